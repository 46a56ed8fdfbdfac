// A set-up code that waits while the network works.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { NetworkStatus } from '../rows/network-status.ts';
import { watchWaitingCode } from './credentials-problem.ts';

const second = 1_000;
const connected = { mode: 'normal', hasLink: true } as unknown as NetworkStatus;
const without = { mode: 'normal', hasLink: false } as unknown as NetworkStatus;
const hotspot = { mode: 'hotspot', hasLink: false } as unknown as NetworkStatus;
const [first, other] = [{ code: 'first' }, { code: 'other' }];

function waiting(status: NetworkStatus | undefined, code: object | undefined) {
  const clock = new FakeClock();
  const network = new Cell(status);
  const pending = new Cell(code);
  const stuck = new Cell<object | undefined>(undefined);
  const end = new AbortController();
  const done = watchWaitingCode({ pending, network, stuck, clock }, end.signal);
  return { clock, network, pending, stuck, stop: () => (end.abort(), done) };
}

test('a code is stuck after a minute with a link, not before, and not without a link', async () => {
  const { clock, network, stuck, stop } = waiting(without, first);
  await clock.advance(600 * second);
  assert.equal(stuck.get(), undefined);
  network.set(connected);
  await clock.advance(59 * second);
  assert.equal(stuck.get(), undefined);
  network.set(without);
  await clock.advance(second);
  network.set(connected);
  await clock.advance(59 * second);
  assert.equal(stuck.get(), undefined, 'the minute begins again with each link');
  network.set({ ...connected, why: 'signal' });
  await clock.advance(second);
  assert.equal(stuck.get(), first);
  network.set(hotspot);
  await clock.advance(600 * second);
  assert.equal(stuck.get(), first, 'once for each code: the hotspot is not a reason to forget it');
  await stop();
});

test('another code has a minute of its own; a code that is redeemed is not stuck', async () => {
  const { clock, pending, stuck, stop } = waiting(connected, first);
  await clock.advance(60 * second);
  assert.equal(stuck.get(), first);
  pending.set(other);
  await clock.advance(59 * second);
  assert.equal(stuck.get(), undefined);
  await clock.advance(second);
  assert.equal(stuck.get(), other);
  pending.set(undefined);
  await clock.advance(second);
  assert.equal(stuck.get(), undefined);
  await stop();
});
