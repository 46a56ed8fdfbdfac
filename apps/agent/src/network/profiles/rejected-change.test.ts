// When a rolled back change of networks is tried again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../../os/sim/device.ts';
import { RejectedChange, retryText } from './rejected-change.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const outage = { reason: 'the management server was not reached after the change', isRefused: false };

function rejections(): { clock: FakeClock; changes: RejectedChange } {
  const clock = new FakeClock();
  const { disk } = new SimDevice(clock).session().device;
  const changes = new RejectedChange({ disk, clock });
  changes.noteReached(true);
  return { clock, changes };
}

test('five trials in all, with growing waits: at most four within 24 hours', async () => {
  const { changes } = rejections();
  const waits: number[] = [];
  let rejected = await changes.reject('a', outage, undefined);
  for (let trial = 1; trial <= 5; trial++) {
    waits.push(changes.waitMs(rejected));
    rejected = await changes.reject('a', outage, rejected);
  }
  assert.deepEqual(waits, [10 * minuteMs, hourMs, 6 * hourMs, 24 * hourMs, Infinity]);
  assert.equal(retryText(rejected), 'The agent tries again when additional_networks changes.');
});

test('the server must have been reachable for five minutes', async () => {
  const { clock, changes } = rejections();
  const rejected = await changes.reject('a', outage, undefined);
  changes.noteReached(false);
  await clock.advance(hourMs);
  assert.equal(changes.waitMs(rejected), Infinity);
  changes.noteReached(true);
  await clock.advance(2 * minuteMs);
  changes.noteReached(true);
  assert.equal(changes.waitMs(rejected), 3 * minuteMs);
  await clock.advance(3 * minuteMs);
  assert.equal(changes.waitMs(rejected), 0);
});

test('a clock that is set back does not make it wait longer than its time', async () => {
  const { clock, changes } = rejections();
  const rejected = await changes.reject('a', outage, undefined);
  const later = { ...rejected, triedWall: clock.wall() + 400 * 24 * hourMs };
  assert.equal(changes.waitMs(later), 10 * minuteMs);
});

test('another configuration is tried at once, and a refusal never again', async () => {
  const { changes } = rejections();
  const refused = await changes.reject(
    'a',
    { reason: 'Home could not be joined: wrong-password', isRefused: true },
    undefined,
  );
  assert.equal(changes.waitMs(refused), Infinity);
  assert.deepEqual(await changes.of('a'), refused);
  assert.equal(await changes.of('b'), undefined);
  assert.equal(await changes.of('a'), undefined, 'the first one may be right now');
});
