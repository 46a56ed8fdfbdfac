// Release checks with a clock that is unknown, set back, or years ahead.
import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { releaseTime } from '../src/versions/trust/release-time.ts';
import * as tufClient from 'tuf-js';
import * as tufErrors from 'tuf-js/dist/error.js';
import * as tufStore from 'tuf-js/dist/store.js';
import { program } from './release-repository.ts';
import { day, hour, start, world } from './tuf-world.ts';

test('tuf_clock_1970', async () => {
  await using w = await world();
  const one = program('1.0.0');
  const late = { now: start + 400 * day, isTrusted: false };
  for (const time of [{ now: 0, isTrusted: false }, late]) {
    Object.assign(w.time, time);
    assert.equal(await w.outcome(one), 'trusted', 'updates continue while the time is unknown');
  }
  assert.match(w.log(), /looks expired, but the clock of this machine is not synchronized.*"role":"root"/);
  assert.match(w.conditions.get()[0]?.message ?? '', /its signed root document looks expired/);
  Object.assign(w.time, { now: start + 2 * hour, isTrusted: true });
  assert.deepEqual([await w.outcome(one), w.conditions.get()], ['trusted', []]);
  // Version rollback is still refused.
  const old = w.repository.copy();
  w.repository.publish(program('1.1.0'));
  assert.equal(await w.outcome(program('1.1.0')), 'trusted');
  for (const [name, page] of old) w.repository.pages.set(name, page);
  assert.equal(await w.outcome(one), 'RELEASE_UNTRUSTED');
});

test('expired_timestamp_freeze: a clock that is set back makes no old document good again', async () => {
  await using w = await world();
  const one = program('1.0.0');
  const at = async (wall: number, isSynchronized: boolean): Promise<string> => {
    Object.assign(w.time, await releaseTime(w.disk, new FakeClock(wall), isSynchronized));
    return w.outcome(one);
  };
  // The documents of this test are dated after the build date of the program.
  const now = Date.parse('2027-03-01T00:00:00Z');
  w.repository.now = now;
  w.repository.rotate((roles) => roles);
  w.repository.publish(program('1.1.0'));
  w.repository.renew();
  assert.equal(await at(now + hour, true), 'trusted');
  assert.equal(await at(now + 30 * hour, true), 'METADATA_EXPIRED', 'frozen for more than a day');
  // The machine keeps the time of the time server, whatever the clock shows later.
  for (const wall of [0, now + hour, now - 365 * day, Date.parse('2038-01-19T03:14:08Z'), 8.64e15 - 1]) {
    assert.equal(await at(wall, false), 'METADATA_EXPIRED', new Date(wall).toISOString());
  }
  w.repository.now = now + 31 * hour;
  w.repository.renew();
  assert.equal(await at(0, false), 'trusted', 'the server shows that it lives');
  assert.equal(await at(now + 32 * hour, true), 'trusted');
});

test('documents that expired before the program itself was made have expired, though the clock says 1970', async () => {
  await using w = await world();
  w.repository.now = start - 400 * day;
  w.repository.renew();
  Object.assign(w.time, await releaseTime(w.disk, new FakeClock(0), false));
  assert.equal(await w.outcome(program('1.0.0')), 'METADATA_EXPIRED');
});

test('tuf-js uses the given time: ten years later everything has expired', async () => {
  await using w = await world();
  w.time.now = start + 3_650 * day;
  assert.equal(await w.outcome(program('1.0.0')), 'METADATA_EXPIRED');
});

test('the store of tuf-js is where the agent imports it, and still not part of its public interface', () => {
  const errors = ['EqualVersionError', 'ExpiredMetadataError'];
  assert.ok('TrustedMetadataStore' in tufStore && errors.every((name) => name in tufErrors));
  assert.ok(!('TrustedMetadataStore' in tufClient), "import the store from 'tuf-js'");
});
