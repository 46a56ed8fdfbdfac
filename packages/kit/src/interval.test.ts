import assert from 'node:assert/strict';
import { test } from 'node:test';
import { without } from './interval.ts';

type Times = readonly (readonly [from: number, until: number])[];
const rows: readonly [what: string, taken: Times, left: Times][] = [
  ['nothing', [], [[10, 20]]],
  ['its begin', [[0, 12]], [[12, 20]]],
  ['its end', [[18, 30]], [[10, 18]]],
  [
    'a time within',
    [[12, 14]],
    [
      [10, 12],
      [14, 20],
    ],
  ],
  ['all of it', [[10, 20]], []],
  [
    'times that only touch it',
    [
      [0, 10],
      [20, 30],
    ],
    [[10, 20]],
  ],
  [
    'times that overlap, in any order',
    [
      [15, 18],
      [12, 16],
    ],
    [
      [10, 12],
      [18, 20],
    ],
  ],
];
for (const [what, taken, left] of rows)
  test(`a time without ${what}`, () => {
    const intervals = (times: Times) => times.map(([from, until]) => ({ from, until }));
    assert.deepEqual(without({ from: 10, until: 20 }, intervals(taken)), intervals(left));
  });
