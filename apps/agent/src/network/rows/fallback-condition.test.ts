import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { Condition } from '../../health/conditions.ts';
import { watchFallback } from './fallback-condition.ts';
import type { NetworkStatus } from './network-status.ts';

const status = (isOnFallback: boolean): NetworkStatus => ({
  mode: 'normal',
  sinceWall: 0,
  why: '',
  next: '',
  nextWall: null,
  hasLink: true,
  connectivity: 'full',
  checkedWall: 0,
  isCloudReached: true,
  links: [
    {
      interface: 'wwan0',
      type: 'other',
      state: 'connected',
      profile: '',
      ssid: '',
      isHotspot: false,
      addresses: [],
      gateway: '',
      signalPercent: 0,
      hasDefaultRoute: true,
      sinceWall: 0,
      why: '',
    },
  ],
  hotspotSsid: '',
  hotspotWaiting: { fields: [], why: '' },
  attempts: [{ network: 'Office', interface: 'wlan0', wall: 0, result: 'not-found', text: 'x' }],
  notes: [],
  isOnFallback,
});
const seconds = 1_000;

test('the condition comes after a minute on a fallback network and goes five minutes after it', async () => {
  const clock = new FakeClock();
  const network = new Cell<NetworkStatus | undefined>(undefined);
  const conditions = new Cell<readonly Condition[]>([]);
  const end = new AbortController();
  const done = watchFallback({ network, conditions, clock }, end.signal);
  const codes = (): string[] => conditions.get().map(({ code }) => code);

  network.set(status(true));
  await clock.advance(59 * seconds);
  assert.deepEqual(codes(), []);
  await clock.advance(1 * seconds);
  assert.deepEqual(codes(), ['NETWORK_FALLBACK']);
  const [condition] = conditions.get();
  assert.equal(
    condition?.message,
    'The machine is online only through wwan0, which has a lower priority than another configured network. Last failure: Office, network not found.',
  );
  assert.equal(condition?.sinceWall, clock.wall() - 60 * seconds);

  network.set(status(false));
  await clock.advance(299 * seconds);
  network.set(status(true)); // it came back for a moment only
  await clock.advance(10 * seconds);
  network.set(status(false));
  await clock.advance(299 * seconds);
  assert.deepEqual(codes(), ['NETWORK_FALLBACK']);
  await clock.advance(1 * seconds);
  assert.deepEqual(codes(), []);
  end.abort();
  await done;
  assert.equal(clock.pending, 0);
});

test('a fallback of some seconds sets no condition', async () => {
  const clock = new FakeClock();
  const network = new Cell<NetworkStatus | undefined>(status(false));
  const conditions = new Cell<readonly Condition[]>([]);
  const end = new AbortController();
  const done = watchFallback({ network, conditions, clock }, end.signal);
  for (let n = 0; n < 20; n++) {
    network.set(status(n % 2 === 0));
    await clock.advance(30 * seconds);
  }
  assert.deepEqual(conditions.get(), []);
  end.abort();
  await done;
});
