// When a machine comes to a network, it asks the management server at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { Cell, createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { LinkStatus } from '../network/rows/connection-history.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { countArrivals } from './arrivals.ts';
import { poll, type PollParts } from './poll.ts';

const wifi: LinkStatus = {
  interface: 'wlan0',
  type: 'wifi',
  state: 'connected',
  profile: 'barn',
  ssid: 'Barn',
  isHotspot: false,
  addresses: ['10.0.0.7/24', 'fd00::1/64'],
  gateway: '10.0.0.1',
  signalPercent: 60,
  hasDefaultRoute: true,
  sinceWall: 0,
  why: '',
};
const statusWith = (...links: LinkStatus[]): NetworkStatus => ({ links }) as unknown as NetworkStatus;

const office = { ...wifi, profile: 'office', ssid: 'Office', addresses: ['172.16.0.9/16'], gateway: '172.16.0.1' };
const rows: readonly [name: string, arrivals: number, ...statuses: (NetworkStatus | undefined)[]][] = [
  ['the start of the agent does not count', 0, undefined, statusWith(wifi)],
  ['a link that comes is one', 1, statusWith(), statusWith(wifi)],
  ['another network', 1, statusWith(wifi), statusWith(office)],
  ['the same network again, after a change that was rolled back', 1, statusWith(wifi), statusWith(), statusWith(wifi)],
  ['another address', 1, statusWith(wifi), statusWith({ ...wifi, addresses: ['10.0.0.8/24'] })],
  ['a temporary IPv6 address', 0, statusWith(wifi), statusWith({ ...wifi, addresses: ['10.0.0.7/24', 'fd00::2/64'] })],
  ['signal strength', 0, statusWith(wifi), statusWith({ ...wifi, signalPercent: 5 })],
  ['a network that is lost', 0, statusWith(wifi), statusWith({ ...wifi, state: 'disconnected' })],
  ['the hotspot of the machine', 0, statusWith(), statusWith({ ...wifi, isHotspot: true })],
  ['the network of a container', 0, statusWith(wifi), statusWith(wifi, { ...wifi, interface: 'veth0', type: 'other' })],
];

async function counting(statuses: readonly (NetworkStatus | undefined)[], spacingMs = 1_000) {
  const clock = new FakeClock();
  const network = new Cell<NetworkStatus | undefined>(statuses[0]);
  const arrivals = new Cell(0);
  const end = new AbortController();
  const done = countArrivals({ network, arrivals, clock }, end.signal);
  for (const status of statuses.slice(1)) {
    network.set(status);
    await clock.advance(spacingMs);
  }
  end.abort();
  await done;
  return arrivals.get();
}

for (const [name, expected, ...statuses] of rows)
  test(name, async () => assert.equal(await counting(statuses), expected));

test('a link that flaps each second for an hour is counted at most 65 times', async () => {
  const flapping = Array.from({ length: 3_600 }, (_, n) => (n % 2 === 0 ? statusWith() : statusWith(wifi)));
  const count = await counting(flapping);
  assert.ok(count > 5 && count <= 65, `${count}`);
});

type Answer = 'never' | 'unreachable' | 'busy';

/** A machine whose management server answers as the test says. */
function machine(answer: Answer) {
  const clock = new FakeClock();
  const arrivals = new Cell(0);
  const calls: { at: number; waitMs: number }[] = [];
  const log = createLog({ name: 'test', clock, level: new Cell('error'), sink: () => {} });
  const on = { answer };
  const deviceAgentConfig = async (_: unknown, waitMs: number, signal: AbortSignal): Promise<never> => {
    calls.push({ at: clock.now(), waitMs });
    if (on.answer === 'unreachable') throw new ConnectError('no route', Code.Unavailable);
    if (on.answer === 'busy') throw new ConnectError('busy', Code.ResourceExhausted, { 'retry-after': '600' });
    await clock.sleep(Infinity, signal);
    throw new Error('ended');
  };
  const parts = {
    cloud: { deviceAgentConfig },
    configReceiver: { fingerprint: '' },
    request: () => ({ id: 'p' }),
    isReached: new Cell(false),
    arrivals,
    restartNotice: new Cell(undefined),
    clock,
    log,
    passes: log,
    random: () => 0.999,
  } as unknown as PollParts;
  const end = new AbortController();
  const done = poll(parts, end.signal);
  const arrive = (): void => arrivals.update((count) => count + 1);
  return { clock, calls, on, arrive, stop: () => (end.abort(), done) };
}

test('a check that waits over a network that is gone is made again over the new one', async () => {
  const { clock, calls, arrive, stop } = machine('never');
  await clock.advance(10_000);
  assert.equal(calls.length, 1);
  arrive();
  await clock.advance(2_000);
  assert.deepEqual(
    calls.map(({ waitMs }) => waitMs),
    [0, 0],
  );
  await stop();
});

test('the pause after many failures ends when a network comes, and begins again from the shortest', async () => {
  const { clock, calls, arrive, stop } = machine('unreachable');
  await clock.advance(10 * 60_000);
  const [before, last] = [calls.length, calls.at(-1)?.at ?? 0];
  assert.ok(clock.now() - last < 31_000);
  await clock.advance(last + 31_000 - clock.now()); // the next pause has just begun
  const slow = calls.length - before;
  arrive();
  await clock.advance(10_000);
  assert.ok(calls.length - before - slow >= 4, `${calls.length - before - slow} checks in ten seconds`);
  await stop();
});

test('a pause that the management server asked for stays', async () => {
  const { clock, calls, arrive, stop } = machine('busy');
  await clock.advance(1_000);
  assert.equal(calls.length, 1);
  arrive();
  await clock.advance(590_000);
  assert.equal(calls.length, 1);
  await clock.advance(120_000);
  assert.equal(calls.length, 2);
  await stop();
});
