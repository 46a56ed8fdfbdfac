import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEarly, longestHoldMs, pauseAfterAnswer, pauseAfterFailure, retryAfterMs } from '@platform/kit';
import { seededRandom } from '@platform/kit/testing';

const answers: readonly [string, Omit<Parameters<typeof pauseAfterAnswer>[0], 'random'>, number][] = [
  ['the first one, not to be held', { waitMs: 0, heldMs: 20, isNews: true, pauseMs: 5_000 }, 0],
  ['nothing new at the end of its time', { waitMs: 55_000, heldMs: 55_020, isNews: false, pauseMs: 60_000 }, 0],
  ['a server that holds for less', { waitMs: 55_000, heldMs: 50_000, isNews: false, pauseMs: 60_000 }, 0],
  ['news', { waitMs: 55_000, heldMs: 10, isNews: true, pauseMs: 5_000 }, 200],
  ['a server that does not hold', { waitMs: 55_000, heldMs: 10, isNews: false, pauseMs: 8_000 }, 8_000],
];
for (const [name, of, ms] of answers)
  test(`the pause after an answer: ${name}`, () => assert.equal(pauseAfterAnswer({ ...of, random: () => 0.5 }), ms));

test('an answer is early when it leaves well before its time; what was not to be held never is', () => {
  assert.deepEqual(
    [0, 49_000, 54_000, 55_000].map((heldMs) => isEarly({ waitMs: longestHoldMs, heldMs })),
    [true, true, false, false],
  );
  assert.equal(isEarly({ waitMs: 0, heldMs: 0 }), false);
});

test('no answer is held for a minute, after which proxies give a connection up', () => {
  assert.ok(longestHoldMs + 3_000 < 60_000);
});

const table: readonly [string, Parameters<typeof pauseAfterFailure>[0], number][] = [
  ['first try of a fresh start', { failures: 1, wasReached: false, random: () => 0.5 }, 500],
  ['fourth', { failures: 4, wasReached: false, random: () => 0.5 }, 4_000],
  ['hundredth', { failures: 100, wasReached: false, random: () => 0.5 }, 15_000],
  ['the server went away', { failures: 1, wasReached: true, random: () => 0.5 }, 15_000],
  ['… of a machine that looks more often', { failures: 1, wasReached: true, longestMs: 600, random: () => 0.5 }, 300],
  ['never at once', { failures: 1, wasReached: true, random: () => 0 }, 200],
  ['asked for 60 s', { failures: 1, wasReached: false, askedMs: 60_000, random: () => 0 }, 60_000],
  ['asked for 60 s, spread', { failures: 1, wasReached: false, askedMs: 60_000, random: () => 0.5 }, 63_000],
];
for (const [name, of, ms] of table) test(`pause: ${name}`, () => assert.equal(pauseAfterFailure(of), ms));

test('a fleet that lost its server comes back spread over half a minute', () => {
  const random = seededRandom(5);
  const perSecond = Array.from({ length: 30 }, () => 0);
  for (let i = 0; i < 3_000; i++)
    perSecond[Math.floor(pauseAfterFailure({ failures: 1, wasReached: true, random }) / 1000)]!++;
  assert.ok(Math.max(...perSecond) < 150, perSecond.join(' '));
});

test('Retry-After: seconds, a date, nonsense, and never more than an hour', () => {
  const of = (text: string | null) => retryAfterMs(text, Date.UTC(2026, 0, 1));
  assert.equal(of('7'), 7_000);
  assert.equal(of('Thu, 01 Jan 2026 00:02:00 GMT'), 120_000);
  assert.equal(of('soon'), undefined);
  assert.equal(of('-5'), undefined);
  assert.equal(of('999999999'), 3_600_000);
  assert.equal(of(null), undefined);
});
