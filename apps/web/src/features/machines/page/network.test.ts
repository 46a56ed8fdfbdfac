// The network of a machine on its page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
  NetworkReportSchema,
  NetworkRowState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { networkView, pastNetwork } from './network.ts';

test('an agent that reports no network has none to show', () => {
  assert.equal(networkView(undefined), undefined);
});

test('state, signal, address and attempts of a machine in the field', () => {
  const report = create(NetworkReportSchema, {
    mode: NetworkMode.NORMAL,
    since: timestampFromMs(5_000),
    why: 'Barn is connected.',
    next: 'Tries Office again.',
    nextTime: timestampFromMs(65_000),
    connectivity: NetworkConnectivity.FULL,
    connectivityCheckedOn: timestampFromMs(6_000),
    isOnFallback: true,
    hotspotSsid: 'barn-7',
    links: [
      {
        interface: 'wlan0',
        type: NetworkLinkType.WIFI,
        state: NetworkLinkState.CONNECTED,
        ssid: 'Barn',
        signalPercent: 65,
        addresses: ['10.0.0.7/24'],
        hasDefaultRoute: true,
        since: timestampFromMs(3_000),
        why: 'additional network Barn, priority 5',
      },
      { interface: 'eth0', type: NetworkLinkType.WIRED, state: NetworkLinkState.UNAVAILABLE, signalPercent: 0 },
      { interface: 'wlan1', type: NetworkLinkType.WIFI, state: 99 as NetworkLinkState, isHotspot: true },
    ],
    attempts: [
      { network: 'Office', time: timestampFromMs(4_000), result: NetworkAttemptResult.WRONG_PASSWORD, reason: 'why' },
      { network: 'Barn', result: NetworkAttemptResult.OK },
      { network: 'Hotel', result: NetworkAttemptResult.PORTAL },
    ],
  });
  const view = networkView(report);
  assert.ok(view);
  assert.deepEqual(
    [
      view.mode,
      view.since,
      view.next,
      view.nextTime,
      view.internet.tone,
      view.checkedOn,
      view.isOnFallback,
      view.hotspot,
    ],
    [{ tone: 'good', text: 'Normal' }, 5_000, 'Tries Office again.', 65_000, 'good', 6_000, true, 'barn-7'],
  );
  assert.deepEqual(
    view.links.map((link) => [
      link.interface,
      link.type,
      link.state.text,
      link.signal,
      link.isInUse,
      link.since,
      link.why,
    ]),
    [
      ['wlan0', 'WiFi', 'Connected', '65 %', true, 3_000, 'additional network Barn, priority 5'],
      ['eth0', 'wired', 'No cable or radio off', '', false, undefined, ''],
      ['wlan1', 'hotspot', 'Not reported', '', false, undefined, ''],
    ],
  );
  assert.deepEqual(
    view.attempts.map(({ network, time, result }) => [network, time, result.tone, result.text]),
    [
      ['Office', 4_000, 'bad', 'Wrong password'],
      ['Barn', undefined, 'good', 'Connected'],
      ['Hotel', undefined, 'warn', 'Connected, but a captive portal asks for a sign-in'],
    ],
  );
});

test('rows: what can never act is a warning, what was not measured has no time', () => {
  const path = 'agent.additional_networks.press';
  const report = create(NetworkReportSchema, {
    networks: [
      {
        path,
        name: 'press',
        state: NetworkRowState.IN_USE,
        since: timestampFromMs(1_000),
        lastSeen: timestampFromMs(9_000),
      },
      { path, name: 'press', state: NetworkRowState.NO_INTERFACE, hasNoEffect: true },
      { path, name: 'press', state: NetworkRowState.NO_INTERFACE },
      { path, name: 'press', state: 99 as NetworkRowState },
    ],
    settings: [
      {
        path: 'agent.network_configuration.wifi_power_save',
        state: NetworkRowState.NOT_KNOWN,
        since: timestampFromMs(1_000),
      },
    ],
  });
  assert.deepEqual(
    networkView(report)?.rows.map(({ name, state, since, measured, lastSeen }) => [
      name,
      state.text,
      state.tone,
      since,
      measured,
      lastSeen,
    ]),
    [
      ['press', 'In use', 'good', 1_000, undefined, undefined],
      ['press', 'No such interface', 'warn', undefined, undefined, undefined],
      ['press', 'No such interface', 'quiet', undefined, undefined, undefined],
      ['press', 'Not known', 'quiet', undefined, undefined, undefined],
      ['wifi_power_save', 'Not known', 'quiet', undefined, undefined, undefined],
    ],
  );
});

test('of a machine that reports no more, nothing of the network is good or in use now', () => {
  const reported = networkView(
    create(NetworkReportSchema, {
      mode: NetworkMode.NORMAL,
      connectivity: NetworkConnectivity.FULL,
      links: [{ interface: 'wlan0', state: NetworkLinkState.CONNECTED, hasDefaultRoute: true }],
      networks: [{ path: 'agent.additional_networks.barn', name: 'barn', state: NetworkRowState.IN_USE }],
    }),
  );
  assert.ok(reported);
  const past = pastNetwork(reported);
  const tones = ({ mode, internet, links, rows }: typeof past) =>
    [mode, internet, ...[...links, ...rows].map(({ state }) => state)].map(({ tone }) => tone);
  assert.deepEqual([reported.isPast, tones(reported)], [false, ['good', 'good', 'good', 'good']]);
  assert.deepEqual([past.isPast, tones(past)], [true, ['quiet', 'quiet', 'quiet', 'quiet']]);
  assert.deepEqual([past.mode.text, past.internet.text], ['Was normal', 'Was reachable']);
});
