import assert from 'node:assert/strict';
import test from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { FakeClock } from '@platform/kit/testing';
import { networksOf } from './addresses.ts';
import { type CallPayer, type OpenCall, unprovenCalls } from './unproven-calls.ts';

function limited(perSecond: number) {
  const clock = new FakeClock();
  const calls = unprovenCalls(perSecond, clock);
  const from = (address: string, share = 1): CallPayer => ({ keys: networksOf(address), share });
  const begin = (payer: CallPayer): OpenCall | undefined => {
    const call = calls.begin(payer);
    return call instanceof PlatformError ? undefined : call;
  };
  /** @returns the number of calls that were not refused. */
  const unproven = (payer: CallPayer, count: number): number => {
    let admitted = 0;
    for (let n = 0; n < count; n++) {
      const call = begin(payer);
      call?.end();
      admitted += Number(call !== undefined);
    }
    return admitted;
  };
  return { clock, calls, from, begin, unproven };
}

test('an address makes a burst of unproven calls, then its rate; other addresses are not affected', async () => {
  const on = limited(10);
  assert.equal(on.unproven(on.from('192.0.2.1'), 500), 120);
  assert.equal(on.unproven(on.from('192.0.2.2'), 100), 100);
  const refusal = on.calls.begin(on.from('192.0.2.1'));
  assert.ok(refusal instanceof PlatformError);
  assert.equal(refusal.code, 'UNPROVEN_CALLS_EXCEEDED');
  assert.deepEqual(refusal.data, { limit: 10, retryAfterS: 1 });
  await on.clock.advance(1_000);
  assert.equal(on.unproven(on.from('192.0.2.1'), 100), 10);
});

test('the /64 networks of a home and of a site are limited together', () => {
  const on = limited(10);
  const home = (n: number): CallPayer => on.from(`2001:db8:1:${(0x200 + n).toString(16)}::7`);
  const ofHome = Array.from({ length: 64 }, (_, n) => on.unproven(home(n), 120));
  assert.equal(
    ofHome.reduce((sum, count) => sum + count),
    240,
  );
  const site = (n: number): CallPayer => on.from(`2001:db8:1:${(n * 256).toString(16)}::7`);
  const ofSite = Array.from({ length: 64 }, (_, n) => on.unproven(site(n + 3), 120));
  assert.equal(
    ofSite.reduce((sum, count) => sum + count),
    240,
  );
  assert.equal(on.unproven(on.from('2001:db8:2::7'), 50), 50);
});

test('calls that authenticate are not charged, however many at once', () => {
  const on = limited(10);
  const fleet = on.from('192.0.2.1');
  for (let n = 0; n < 20; n++) {
    const atOnce = Array.from({ length: 1_000 }, () => on.begin(fleet));
    for (const call of atOnce) {
      assert.ok(call);
      call.prove();
      call.end();
    }
  }
  assert.equal(on.unproven(fleet, 500), 120);
});

test('calls without an end are limited, too: 1,024 of an address in progress', () => {
  const on = limited(10);
  const open = Array.from({ length: 2_000 }, () => on.begin(on.from('192.0.2.1')));
  assert.equal(open.filter((call) => call !== undefined).length, 1_024);
  const known = Array.from({ length: 20_000 }, () => on.begin(on.from('192.0.2.2', 4)));
  assert.equal(known.filter((call) => call !== undefined).length, 16_384);
});

test('whoever goes on after its refusals is deaf for a while', async () => {
  const on = limited(10);
  const payer = on.from('192.0.2.1');
  on.unproven(payer, 200);
  assert.equal(on.calls.isDeaf(payer), false);
  on.unproven(payer, 200);
  assert.equal(on.calls.isDeaf(payer), true);
  await on.clock.advance(15_000);
  assert.equal(on.calls.isDeaf(payer), false);
});

test('without a limit nothing is refused', () => {
  const on = limited(0);
  assert.equal(on.unproven(on.from('192.0.2.1'), 5_000), 5_000);
  assert.equal(on.calls.isDeaf(on.from('192.0.2.1')), false);
});
