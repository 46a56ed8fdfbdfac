import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { SearchSlots } from './log-calls.ts';

test('two searches run at once; the third waits for its turn, or gives up with the limit', async () => {
  const clock = new FakeClock();
  const slots = new SearchSlots({ clock, most: 2, waitMs: 1_000 });
  const { signal } = new AbortController();
  const started: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const run = (n: number) =>
    slots.run(signal, async () => {
      started.push(n);
      await ends[n]?.promise;
    });
  const first = [run(0), run(1)];
  const third = run(2);
  const fourth = assert.rejects(run(3), { code: 'LOG_SEARCH_BUSY' });
  await Promise.resolve();
  assert.deepEqual(started, [0, 1]);
  ends[0]?.resolve();
  await first[0];
  await clock.advance(1_000);
  await fourth;
  assert.deepEqual(started, [0, 1, 2]);
  ends[1]?.resolve();
  ends[2]?.resolve();
  await Promise.all([...first, third]);
  await slots.run(signal, async () => {});
});

test('a search that fails, or whose caller leaves, frees its place', async () => {
  const slots = new SearchSlots({ clock: new FakeClock(), most: 1, waitMs: 1_000 });
  const { signal } = new AbortController();
  await assert.rejects(
    slots.run(signal, () => Promise.reject(new Error('x'))),
    /x/,
  );
  const end = Promise.withResolvers<void>();
  const first = slots.run(signal, () => end.promise);
  const left = new AbortController();
  const second = assert.rejects(slots.run(left.signal, async () => {}));
  left.abort();
  await second;
  end.resolve();
  await first;
  assert.equal(await slots.run(signal, async () => 1), 1);
});
