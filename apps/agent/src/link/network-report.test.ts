// What of the network is reported, and how often.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  NetworkLinkState,
  NetworkMode,
  NetworkReportSchema,
  NetworkRowState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Cell, createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { LinkStatus } from '../network/rows/connection-history.ts';
import type { NetworkRow } from '../network/rows/network-rows.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { nothingYet, type Actual, type Wanted } from '../state/state.ts';
import { networkReport } from './network-report.ts';
import { report, type ReportParts } from './report.ts';

const wifi: LinkStatus = {
  interface: 'wlan0',
  type: 'wifi',
  state: 'connected',
  profile: 'b0d5',
  ssid: 'Café',
  isHotspot: false,
  addresses: ['192.168.1.20/24'],
  gateway: '192.168.1.1',
  signalPercent: 63,
  hasDefaultRoute: true,
  sinceWall: 1_794_999_000_000,
  why: 'entered when the machine was set up, priority 0',
};
const bridge = (n: number): LinkStatus => ({
  ...wifi,
  interface: `veth${n}`,
  type: 'other',
  state: 'unmanaged',
  ssid: '',
  hasDefaultRoute: false,
});
const online: NetworkStatus = {
  mode: 'normal',
  sinceWall: 1_795_000_000_000.4,
  why: 'Café is connected.',
  next: '',
  nextWall: null,
  hasLink: true,
  connectivity: 'full',
  checkedWall: 0,
  isCloudReached: true,
  links: [wifi],
  hotspotSsid: '',
  hotspotWaiting: { fields: [], why: '' },
  attempts: [],
  notes: [],
  isOnFallback: false,
};
const attempt = (n: number): NetworkStatus['attempts'][number] => ({
  network: `net${n}`,
  interface: 'wlan0',
  wall: 1_795_000_000_000 - n,
  result: 'wrong-password',
  text: 'The password is wrong.',
});

test('a report survives the wire: the link in use first, at most eight, signal in steps of five', () => {
  const status = {
    ...online,
    nextWall: 1_795_000_060_000,
    links: [...Array.from({ length: 20 }, (_, n) => bridge(n)), wifi],
    attempts: Array.from({ length: 12 }, (_, n) => attempt(n)),
  };
  const init = networkReport(status, (at) => at);
  const sent = fromBinary(NetworkReportSchema, toBinary(NetworkReportSchema, create(NetworkReportSchema, init)));
  assert.equal(sent.mode, NetworkMode.NORMAL);
  assert.equal(timestampMs(sent.since!), 1_795_000_000_000);
  assert.equal(timestampMs(sent.nextTime!), 1_795_000_060_000);
  assert.equal(sent.links.length, 8);
  const [first] = sent.links;
  assert.deepEqual(
    [first?.interface, first?.ssid, first?.state, first?.signalPercent, first?.why],
    ['wlan0', 'Café', NetworkLinkState.CONNECTED, 65, wifi.why],
  );
  assert.equal(timestampMs(first!.since!), wifi.sinceWall);
  assert.deepEqual(
    sent.attempts.map(({ network }) => network),
    Array.from({ length: 10 }, (_, n) => `net${n}`),
  );
});

const row: NetworkRow = {
  path: 'agent.additional_networks.barn',
  name: 'barn',
  interface: 'wlan0',
  state: 'out-of-range',
  text: 'stored, not seen any more',
  code: '',
  sinceWall: 1_794_999_000_000,
  measuredWall: 1_795_000_000_000,
  lastSeenWall: 1_794_999_000_000,
  hasNoEffect: false,
};
const withRows = (more: Partial<NetworkRow> = {}): NetworkStatus => ({
  ...online,
  rows: { revision: 3, configSha256: 'a', networks: [{ ...row, ...more }], settings: [], ineffective: [] },
});

test('rows survive the wire: bounded, with their times, and without those that are unknown', () => {
  const many = Array.from({ length: 100 }, (_, n) => ({ ...row, path: `p${n}`, text: 'x'.repeat(1000) }));
  const status: NetworkStatus = {
    ...online,
    rows: {
      revision: 3,
      configSha256: 'a',
      networks: many,
      settings: [{ ...row, name: '', measuredWall: null, state: 'not-known' }],
      ineffective: [],
    },
  };
  const bytes = toBinary(
    NetworkReportSchema,
    create(
      NetworkReportSchema,
      networkReport(status, (at) => at),
    ),
  );
  const sent = fromBinary(NetworkReportSchema, bytes);
  assert.equal(sent.networks.length, 64);
  const [first] = sent.networks;
  assert.deepEqual(
    [first?.path, first?.state, first?.name, first?.text.length, first?.lastSeen && timestampMs(first.lastSeen)],
    ['p0', NetworkRowState.OUT_OF_RANGE, 'barn', 300, row.lastSeenWall],
  );
  assert.deepEqual(
    sent.settings.map(({ state, measured }) => [state, measured]),
    [[NetworkRowState.NOT_KNOWN, undefined]],
  );
});

test('rows that are only measured again cause no report; another state causes one', async () => {
  const { clock, network, sent, end, done } = reporter();
  network.set(withRows());
  await clock.advance(1_000);
  const before = sent.length;
  for (let n = 0; n < 600; n++) {
    network.set(withRows({ measuredWall: n, lastSeenWall: n }));
    await clock.advance(1_000);
  }
  assert.equal(sent.length, before);
  network.set(withRows({ state: 'in-use' }));
  await clock.advance(1_000);
  assert.equal(sent.length, before + 1);
  end.abort();
  await done;
});

test('a time that is unknown is left out', () => {
  const init = networkReport({ ...online, attempts: [attempt(1)] }, () => undefined);
  assert.equal(init.since, undefined);
  assert.equal(init.links?.[0]?.since, undefined);
  assert.equal(init.attempts?.[0]?.time, undefined);
});

/** The reports that a running agent sends while its network changes. */
function reporter() {
  const clock = new FakeClock();
  const network = new Cell<NetworkStatus | undefined>(online);
  const sent: unknown[] = [];
  const log = createLog({ name: 'test', clock, level: new Cell('error'), sink: () => {} });
  const host = { platform: 'linux/amd64', tags: [], hostname: () => 'barn', distro: () => 'debian:12' };
  const wanted = { configSha256: '', corrections: [], ineffective: [] } as unknown as Wanted;
  const parts = {
    cloud: { deviceAgentConfig: (request: { report: { network: unknown } }) => void sent.push(request.report.network) },
    configReceiver: { fingerprint: '', received: new Cell(0), accept: () => {} },
    self: { partId: 'p', agentVersion: '1.0.0', startedAt: 0, host },
    wanted: new Cell(wanted),
    actual: new Cell<Actual>(nothingYet),
    conditions: new Cell([]),
    network,
    sinceOf: (at: number) => at,
    isReached: new Cell(true),
    clock,
    log,
    passes: log,
    random: () => 0.5,
  };
  const end = new AbortController();
  const done = report(parts as unknown as ReportParts, end.signal);
  return { clock, network, sent, end, done };
}

test('a signal that changes each second causes no report, the next report has it', async () => {
  const { clock, network, sent, end, done } = reporter();
  await clock.advance(1_000);
  assert.equal(sent.length, 1);
  for (let n = 0; n < 600; n++) {
    network.set({ ...online, nextWall: n, links: [{ ...wifi, signalPercent: n % 100 }] });
    await clock.advance(1_000);
  }
  assert.equal(sent.length, 1);
  network.set({ ...online, connectivity: 'none', links: [{ ...wifi, signalPercent: 20 }] });
  await clock.advance(1_000);
  assert.equal(sent.length, 2);
  assert.equal((sent[1] as { links: { signalPercent: number }[] }).links[0]?.signalPercent, 20);
  end.abort();
  await done;
});

test('a link that flaps all day costs at most 300 reports, and the last state is among them', async () => {
  const { clock, network, sent, end, done } = reporter();
  for (let n = 0; n < 24 * 60 * 6; n++) {
    network.set({ ...online, connectivity: n % 2 === 0 ? 'none' : 'full', why: `${n}` });
    await clock.advance(10_000);
  }
  assert.ok(sent.length > 12 && sent.length <= 325, `${sent.length} reports`);
  await clock.advance(5 * 60_000);
  assert.equal((sent.at(-1) as NetworkStatus).why, `${24 * 60 * 6 - 1}`);
  end.abort();
  await done;
});
