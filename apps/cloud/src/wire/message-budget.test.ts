import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { messageBudget } from './message-budget.ts';

const mib = 2 ** 20;

test('one caller takes its share, all together the whole; what is small is free', async () => {
  const budget = messageBudget(new FakeClock(), 8 * mib, 3 * mib);
  const small = budget.lease(
    () => 'a',
    () => assert.fail(),
  );
  assert.equal(small.grow(10_000), undefined);
  assert.equal(budget.bytes, 0);
  const leases = ['a', 'b'].map((caller) =>
    budget.lease(
      () => caller,
      () => assert.fail(),
    ),
  );
  for (const lease of leases) {
    assert.equal(lease.grow(3 * mib), undefined);
    lease.complete();
  }
  assert.equal(budget.bytes, 6 * mib);
  for (const lease of leases) lease.end();
  assert.equal(budget.bytes, 0);
});

test('who finds no room waits a moment, then is refused; room that is given back is taken', async () => {
  const clock = new FakeClock();
  const budget = messageBudget(clock, 2 * mib, 2 * mib);
  const first = budget.lease(
    () => 'a',
    () => assert.fail(),
  );
  void first.grow(2 * mib);
  first.complete();
  const second = budget.lease(
    () => 'b',
    () => assert.fail(),
  );
  const refused = assert.rejects(async () => second.grow(mib), { code: 'TOO_MANY_REQUESTS' });
  await clock.advance(2_500);
  await refused;
  const third = budget.lease(
    () => 'c',
    () => assert.fail(),
  );
  const taken = third.grow(mib);
  first.end();
  await clock.advance(500);
  await taken;
  assert.equal(budget.bytes, mib);
});

test('a sender that stands still gives way to one that needs its room', async () => {
  const clock = new FakeClock();
  const budget = messageBudget(clock, 2 * mib, 2 * mib);
  const evicted: string[] = [];
  const stalled = budget.lease(
    () => 'a',
    () => evicted.push('a'),
  );
  void stalled.grow(2 * mib);
  for (let n = 0; n < 10; n++) {
    await clock.advance(1_000);
    void stalled.grow(0);
  }
  const next = budget.lease(
    () => 'b',
    () => evicted.push('b'),
  );
  const taken = next.grow(mib);
  await clock.advance(500);
  await taken;
  assert.deepEqual([evicted, budget.bytes], [['a'], mib]);
});
