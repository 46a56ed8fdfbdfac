import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { Cell } from '@platform/kit';
import { FakeClock, seededRandom } from '@platform/kit/testing';
import { retryAfterMs } from './link.ts';
import { backOff, pauseMs } from './pause.ts';

const table: readonly [string, Parameters<typeof pauseMs>[0], number][] = [
  ['first try of a fresh start', { failures: 1, wasReached: false, random: () => 0.5 }, 500],
  ['fourth', { failures: 4, wasReached: false, random: () => 0.5 }, 4_000],
  ['hundredth', { failures: 100, wasReached: false, random: () => 0.5 }, 15_000],
  ['the server went away', { failures: 1, wasReached: true, random: () => 0.5 }, 15_000],
  ['never at once', { failures: 1, wasReached: true, random: () => 0 }, 200],
  ['asked for 60 s', { failures: 1, wasReached: false, askedMs: 60_000, random: () => 0 }, 60_000],
  ['asked for 60 s, spread', { failures: 1, wasReached: false, askedMs: 60_000, random: () => 0.5 }, 63_000],
];
for (const [name, of, ms] of table) test(`pause: ${name}`, () => assert.equal(pauseMs(of), ms));

test('a fleet that lost its server comes back spread over half a minute', () => {
  const random = seededRandom(5);
  const perSecond = Array.from({ length: 30 }, () => 0);
  for (let i = 0; i < 3_000; i++) perSecond[Math.floor(pauseMs({ failures: 1, wasReached: true, random }) / 1000)]!++;
  assert.ok(Math.max(...perSecond) < 150, perSecond.join(' '));
});

test('Retry-After: seconds, a date, nonsense, and never more than an hour', () => {
  const of = (text: string) => retryAfterMs(new Headers({ 'retry-after': text }), Date.UTC(2026, 0, 1));
  assert.equal(of('7'), 7_000);
  assert.equal(of('Thu, 01 Jan 2026 00:02:00 GMT'), 120_000);
  assert.equal(of('soon'), undefined);
  assert.equal(of('-5'), undefined);
  assert.equal(of('999999999'), 3_600_000);
  assert.equal(retryAfterMs(new Headers(), 0), undefined);
});

test('a loop that only follows waits until the cloud is reached again, or looks for itself now and then', async () => {
  const [clock, isReached, end] = [new FakeClock(), new Cell(false), new AbortController()];
  const ended = { at: -1 };
  const backingOff = async (error: unknown) => {
    await backOff({ failures: 1, error, isReached, clock, random: () => 0.5 }, end.signal);
    ended.at = clock.now();
  };
  const wait = (error: unknown) => void backingOff(error);
  wait(new Error('away'));
  await clock.advance(5_000);
  assert.equal(ended.at, -1);
  isReached.set(true);
  await clock.settle();
  assert.equal(ended.at, 5_000);
  wait(new Error('an answer that says no'));
  await clock.advance(500);
  assert.equal(ended.at, 5_500);
  isReached.set(false);
  wait(new Error('away'));
  await clock.advance(400_000);
  assert.equal(ended.at, 5_500 + 300_500);
  isReached.set(true);
  wait(new ConnectError('later', Code.ResourceExhausted, { 'retry-after': '90' }));
  const before = clock.now();
  await clock.advance(200_000);
  assert.equal(ended.at - before, 94_500);
  assert.equal(clock.pending, 0);
});
