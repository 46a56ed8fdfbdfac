import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { valueRate } from './value-rate.ts';

test('a caller has a burst and a rate of its own', async () => {
  const clock = new FakeClock();
  const rate = valueRate(clock, 100, 1_000);
  assert.deepEqual(
    [rate.take('a', 600), rate.take('a', 600), rate.take('a', 400), rate.take('b', 1_000)],
    [true, false, true, true],
  );
  await clock.advance(2_000);
  assert.deepEqual([rate.take('a', 201), rate.take('a', 200), rate.take('a', 1)], [false, true, false]);
});
