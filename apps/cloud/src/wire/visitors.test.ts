import assert from 'node:assert/strict';
import test from 'node:test';
import { createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { type Visitor, type VisitorLimits, visitors } from './visitors.ts';

function opened(limits: Partial<VisitorLimits>) {
  const clock = new FakeClock();
  const log = createLog({ name: 'test', clock, level: 'error', sink: () => {} });
  const slowest = { bytes: 60_000, ms: 60_000, answerMs: 3_600_000 };
  const all = visitors({ most: 1_000, ofAddress: 3, unprovenMs: 30_000, slowest, ...limits }, clock, log);
  const stop = new AbortController();
  void all.watch(stop.signal);
  const closed: string[] = [];
  const enter = (address: string, name = address): Visitor => {
    const visitor = all.enter(address, () => closed.push(name));
    assert.ok(visitor, `${name} is let in`);
    return visitor;
  };
  return { all, clock, closed, enter, [Symbol.dispose]: () => stop.abort() };
}

test('beyond the limit of an address the newest unproven ones are closed after a moment; the proven stay', async () => {
  using on = opened({});
  const names = ['1', '2', '3', '4', '5', '6'];
  const made = names.map((name) => on.enter('192.0.2.7', name));
  on.enter('192.0.2.8', 'elsewhere');
  made[4]?.prove('machine');
  await on.clock.advance(900);
  assert.deepEqual(on.closed, []);
  await on.clock.advance(2_000);
  assert.deepEqual(on.closed, ['4', '6']);
});

test('whoever proves nothing in time is closed, a byte now and then or not; our own time does not count', async () => {
  using on = opened({});
  on.enter('192.0.2.7', 'silent');
  const slow = on.enter('192.0.2.8', 'slow');
  const endSlow = slow.busy(() => false);
  const asked = on.enter('192.0.2.9', 'waits for us');
  const answer = asked.busy(() => true);
  await on.clock.advance(31_000);
  assert.deepEqual(on.closed, ['silent', 'slow']);
  endSlow();
  await on.clock.advance(60_000);
  answer();
  await on.clock.advance(29_000);
  assert.deepEqual(on.closed, ['silent', 'slow']);
  await on.clock.advance(3_000);
  assert.deepEqual(on.closed, ['silent', 'slow', 'waits for us']);
  assert.equal(on.all.counts.open, 0);
});

test('an unproven reader takes an answer at a least rate and within a time; what we delay does not count', async () => {
  using on = opened({});
  const read = (name: string, address: string, bytesPerS: number, isUnread = () => true) => {
    const started = on.clock.now();
    const takenBytes = () => (bytesPerS * (on.clock.now() - started)) / 1_000;
    return on.enter(address, name).busy(() => true, { isUnread, takenBytes });
  };
  read('takes nothing', '192.0.2.1', 0);
  read('drips', '192.0.2.2', 900);
  read('slow, but reads', '192.0.2.3', 2_000);
  read('waits for our disk', '192.0.2.4', 0, () => false);
  const proven = on.enter('192.0.2.5', 'proven while it reads');
  proven.busy(() => true, { isUnread: () => true, takenBytes: () => 0 });
  proven.prove('machine');
  let isStuck = true;
  read('stuck for less than a minute at a time', '192.0.2.6', 0, () => isStuck);
  for (let n = 0; n < 65; n++) {
    await on.clock.advance(1_000);
    isStuck = n % 50 !== 0;
  }
  assert.deepEqual(on.closed, ['takes nothing', 'drips']);
  for (let n = 0; n < 3_600; n++) {
    await on.clock.advance(1_000);
    isStuck = n % 50 !== 0;
  }
  assert.deepEqual(on.closed, ['takes nothing', 'drips', 'slow, but reads', 'stuck for less than a minute at a time']);
});

test('a quarter is kept for the proven, and for addresses with an authenticated caller', () => {
  using on = opened({ most: 100, ofAddress: 1_000 });
  const first = on.enter('192.0.2.1');
  first.prove('machine');
  first.leave();
  for (let n = 0; n < 75; n++) on.enter(`198.51.100.${n}`);
  assert.equal(
    on.all.enter('203.0.113.1', () => {}),
    undefined,
  );
  on.enter('192.0.2.1', 'comes again');
});

test('one caller does not prove all connections', () => {
  using on = opened({ most: 32 });
  const made = [1, 2, 3].map((n) => on.enter(`192.0.2.${n}`));
  for (const visitor of made) visitor.prove('one machine');
  assert.deepEqual(
    made.map((visitor) => visitor.isProven),
    [true, true, false],
  );
  made[0]?.leave();
  made[2]?.prove('one machine');
  assert.equal(made[2]?.isProven, true);
});
