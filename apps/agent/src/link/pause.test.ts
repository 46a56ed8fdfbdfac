import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { backOff } from './pause.ts';

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
