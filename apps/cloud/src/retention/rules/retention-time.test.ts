import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { advance, type RetentionTime, settleMs, startOf, toleranceMs } from './retention-time.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A wall clock `aheadMs` ahead of the monotonic clock, stepped every minute for `forMs`. */
const walk = (from: RetentionTime, aheadMs: number, forMs: number): RetentionTime => {
  let state = from;
  const end = from.monotonic + forMs;
  for (let now = from.monotonic + minute; now <= end; now += minute)
    state = advance(state, { wall: now + aheadMs, monotonic: now });
  return state;
};
const start = startOf(undefined, { wall: 0, monotonic: 0 });

const rows: [name: string, end: RetentionTime, expected: number][] = [
  ['follows the wall clock', walk(start, 0, day), day],
  ['takes a small correction at once', walk(start, toleranceMs, minute), minute + toleranceMs],
  ['holds a larger one', walk(start, toleranceMs + 1, minute), minute],
  ['advances with uptime while a jump of a year is held', walk(start, year, settleMs), settleMs],
  ['believes it after a day', walk(start, year, settleMs + minute), settleMs + minute + year],
  ['forgets a jump that was set right', walk(walk(start, year, 23 * hour), 0, 2 * day), 23 * hour + 2 * day],
  ['follows a clock that goes back', walk(walk(start, 0, 10 * day), -5 * day, minute), 5 * day + minute],
  [
    'and holds it again when it comes forward',
    walk(walk(walk(start, 0, 10 * day), -5 * day, hour), 0, hour),
    5 * day + 2 * hour,
  ],
  ['a restart after a minute goes on', startOf(day, { wall: day + minute, monotonic: 0 }), day + minute],
  ['a restart with a wrong clock is held', startOf(day, { wall: year, monotonic: 0 }), day],
  ['a restart with a clock behind follows it', startOf(year, { wall: day, monotonic: 0 }), day],
];
for (const [name, { at }, expected] of rows) test(`retention time ${name}`, () => assert.equal(at, expected));

test('however the clock jumps, time never gains more than uptime, unless the clock kept step for a day', () => {
  const random = seededRandom(5);
  for (let round = 0; round < 200; round++) {
    let state = start;
    let ahead = 0;
    for (let now = minute; now < 3 * day; now += minute) {
      if (random() < 0.002) ahead = Math.floor((random() - 0.3) * year);
      const next = advance(state, { wall: now + ahead, monotonic: now });
      const isSettled = now - next.steadySince >= settleMs;
      assert.ok(isSettled || next.at <= state.at + minute + toleranceMs);
      assert.ok(next.at <= now + ahead || next.at <= state.at + minute, 'never ahead of both clocks');
      state = next;
    }
  }
});
