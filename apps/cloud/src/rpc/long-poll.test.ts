import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { longPoll } from './long-poll.ts';

/** A long poll of 10 s for a value above zero. `during` runs within the first probe. */
function polled(of: { value?: number; signal?: AbortSignal; pollMs?: number; during?: (poll: Poll) => void } = {}) {
  const clock = new FakeClock();
  const watching = new Set<() => void>();
  const poll: Poll = {
    value: of.value ?? 0,
    probes: 0,
    isInSlot: false,
    evict: () => {},
    change(value) {
      poll.value = value;
      for (const wake of watching) wake();
    },
  };
  const result = longPoll({
    async probe() {
      poll.probes++;
      const found = poll.value;
      if (poll.probes === 1) of.during?.(poll);
      return found;
    },
    isNews: (found) => found > 0,
    watch(wake) {
      watching.add(wake);
      return () => watching.delete(wake);
    },
    enter(evict) {
      poll.isInSlot = true;
      poll.evict = evict;
      return () => (poll.isInSlot = false);
    },
    waitMs: 10_000,
    ...(of.pollMs !== undefined && { pollMs: of.pollMs }),
    clock,
    signal: of.signal ?? new AbortController().signal,
  });
  /** What the ended poll left behind: watchers, slots, timers. */
  const left = (): unknown => [watching.size, poll.isInSlot, clock.pending];
  return { poll, clock, result, left };
}

type Poll = {
  value: number;
  probes: number;
  isInSlot: boolean;
  evict: (error: Error) => void;
  change(value: number): void;
};
const nothing = [0, false, 0];

test('news ends a long poll at once; a change without news does not', async () => {
  const ready = polled({ value: 1 });
  assert.equal(await ready.result, 1);
  const { poll, clock, result, left } = polled();
  await clock.advance(1_000);
  poll.change(0);
  await clock.advance(1_000);
  poll.change(2);
  assert.equal(await result, 2);
  assert.deepEqual([ready.poll.probes, poll.probes], [1, 3]);
  assert.deepEqual([ready.left(), left()], [nothing, nothing]);
});

test('a change during a probe is not missed', async () => {
  const { result, poll, left } = polled({ during: (one) => one.change(3) });
  assert.equal(await result, 3);
  assert.equal(poll.probes, 2);
  assert.deepEqual(left(), nothing);
});

test('the time ends it with what the last probe found; lost notifications cost one interval', async () => {
  const quiet = polled();
  await quiet.clock.advance(10_000);
  assert.equal(await quiet.result, 0);
  assert.equal(quiet.poll.probes, 2);
  const { poll, clock, result, left } = polled({ pollMs: 2_000 });
  await clock.advance(3_000);
  poll.value = 4;
  await clock.advance(1_000);
  assert.equal(await result, 4);
  assert.deepEqual([quiet.left(), left()], [nothing, nothing]);
});

test('it never probes after an abort', async () => {
  const before = polled({ value: 1, signal: AbortSignal.abort() });
  await assert.rejects(before.result, { name: 'AbortError' });
  assert.equal(before.poll.probes, 0);

  for (const isWaiting of [true, false]) {
    const caller = new AbortController();
    const during = (poll: Poll): void => {
      poll.change(5);
      if (!isWaiting) caller.abort();
    };
    const one = polled({ signal: caller.signal, ...(!isWaiting && { during }) });
    await one.clock.advance(1_000);
    caller.abort();
    one.poll.change(5);
    assert.equal(await one.result, 0, 'what the last probe found');
    assert.equal(one.poll.probes, 1);
    assert.deepEqual(one.left(), nothing);
  }
});

test('an evicted poll ends with the error, unless the next probe brings news', async () => {
  const full = new Error('newer calls took the slot');
  const evicted = polled();
  await evicted.clock.advance(1_000);
  evicted.poll.evict(full);
  await assert.rejects(evicted.result, full);
  const lucky = polled();
  await lucky.clock.advance(1_000);
  lucky.poll.value = 6;
  lucky.poll.evict(full);
  assert.equal(await lucky.result, 6);
  assert.deepEqual([evicted.left(), lucky.left()], [nothing, nothing]);
});
