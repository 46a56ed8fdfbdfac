import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usersOf } from './fragment-values.ts';

const rows: readonly (readonly [robotPartCount: number, usedElsewhere: boolean, text: string])[] = [
  [0, false, 'no machine'],
  [1, false, '1 machine'],
  [2, true, '2 machines and others'],
  [0, true, 'others'],
];

for (const [robotPartCount, usedElsewhere, text] of rows)
  test(`a fragment is used by ${text}`, () => assert.equal(usersOf({ robotPartCount, usedElsewhere }), text));
