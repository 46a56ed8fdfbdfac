import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatShort } from './quantities.ts';

const rows: readonly (readonly [amount: number, text: string])[] = [
  [0, '0'],
  [9_999, '9\u202f999'],
  [10_000, '10.0k'],
  [99_949, '99.9k'],
  [99_951, '100k'],
  [999_499, '999k'],
  [999_500, '1.0M'],
  [43_210_000, '43.2M'],
];

for (const [amount, text] of rows)
  test(`${amount} in at most five characters`, () => assert.equal(formatShort(amount), text));
