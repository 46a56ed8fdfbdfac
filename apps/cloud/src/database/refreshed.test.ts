import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { refreshed } from './refreshed.ts';

/** A read whose duration the test controls. */
function stage() {
  const clock = new FakeClock();
  const readings: PromiseWithResolvers<number>[] = [];
  const read = (): Promise<number> => {
    const reading = Promise.withResolvers<number>();
    readings.push(reading);
    return reading.promise;
  };
  return { clock, readings, ask: refreshed(read, clock, new AbortController().signal) };
}
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('who asks during a reading gets the next one, all together', async () => {
  const { readings, ask } = stage();
  const first = ask();
  await settled();
  const later = [ask(), ask(), ask()];
  await settled();
  assert.equal(readings.length, 1);
  readings[0]?.resolve(1);
  assert.equal(await first, 1);
  await settled();
  assert.equal(readings.length, 2);
  readings[1]?.resolve(2);
  assert.deepEqual(await Promise.all(later), [2, 2, 2]);
});

for (const [name, tookMs, restMs] of [
  ['four times as long as it took', 100, 400],
  ['at most five seconds', 60_000, 5_000],
] as const) {
  test(`after a reading there is a rest: ${name}`, async () => {
    const { clock, readings, ask } = stage();
    const first = ask();
    await settled();
    await clock.advance(tookMs);
    readings[0]?.resolve(1);
    await first;
    const second = ask();
    await clock.advance(restMs - 1);
    assert.equal(readings.length, 1);
    await clock.advance(1);
    await settled();
    assert.equal(readings.length, 2);
    readings[1]?.resolve(2);
    assert.equal(await second, 2);
  });
}

test('a failed reading fails its waiters, but no later caller', async () => {
  const { readings, ask } = stage();
  const first = ask();
  await settled();
  const second = ask();
  readings[0]?.reject(new Error('away'));
  await assert.rejects(first, /away/);
  await settled();
  readings[1]?.resolve(2);
  assert.equal(await second, 2);
});
