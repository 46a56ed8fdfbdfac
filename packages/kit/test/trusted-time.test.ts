import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTime, withHeardTime } from '@platform/kit';

const day = 86_400_000;
const floor = Date.UTC(2026, 10, 1);

const table: readonly [string, number, boolean | undefined, number, boolean][] = [
  ['1970 at boot', 0, undefined, 0, false],
  ['1970 at boot, though it calls itself synchronized', 0, true, 0, false],
  ['a second before the floor', floor - 1_000, undefined, 0, false],
  ['plausible', floor + 3 * day, undefined, 3 * day, false],
  ['plausible and synchronized', floor + 3 * day, true, 3 * day, true],
  ['years ahead', floor + 3_000 * day, undefined, 0, false],
  ['years ahead and not synchronized', floor + 3_000 * day, false, 0, false],
  ['years ahead and synchronized', floor + 3_000 * day, true, 3_000 * day, true],
];
for (const [name, system, isSynchronized, after, isTrusted] of table) {
  test(`the clock of a device: ${name}`, () => {
    const evidence = { floor, system, ...(isSynchronized !== undefined && { isSynchronized }) };
    assert.deepEqual(estimateTime(evidence), { now: floor + after, isTrusted });
  });
}

test('what was heard moves the time forward, never back, and overrules a trusted clock by a day at most', () => {
  const slow = { now: floor, isTrusted: false };
  assert.deepEqual(withHeardTime(slow, floor + 40 * day), { now: floor + 40 * day, isTrusted: false });
  assert.equal(withHeardTime(slow, floor - day), slow);
  assert.equal(withHeardTime(slow, undefined), slow);
  assert.equal(withHeardTime(slow, Number.NaN), slow);
  const sure = { now: floor, isTrusted: true };
  assert.deepEqual(withHeardTime(sure, floor + day / 2), { now: floor + day / 2, isTrusted: true });
  assert.equal(withHeardTime(sure, floor + 2 * day), sure);
});
