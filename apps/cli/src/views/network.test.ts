import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  MachineSchema,
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkMode,
  NetworkRowState,
  type NetworkReportSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { networkJson, networkText } from './network.ts';

const machine = (network?: MessageInitShape<typeof NetworkReportSchema>) =>
  create(MachineSchema, { report: { ...(network && { network }) } });
const wifi = {
  interface: 'wlan0',
  ssid: 'Barn',
  signalPercent: 65,
  addresses: ['10.0.0.7/24', 'fe80::1/64'],
  hasDefaultRoute: true,
};

const rows: [name: string, network: MessageInitShape<typeof NetworkReportSchema> | undefined, text: string][] = [
  ['not reported', undefined, ''],
  [
    'online by WiFi',
    {
      mode: NetworkMode.NORMAL,
      connectivity: NetworkConnectivity.FULL,
      connectivityCheckedOn: timestampFromMs(6_000),
      since: timestampFromMs(0),
      links: [wifi],
      attempts: [{ network: 'Barn', result: NetworkAttemptResult.OK }],
    },
    'normal, Barn on wlan0 (65 %), 10.0.0.7/24, internet (checked 4 s ago), since 10 s ago',
  ],
  [
    'a fallback network while another fails',
    {
      mode: NetworkMode.NORMAL,
      connectivity: NetworkConnectivity.FULL,
      isOnFallback: true,
      links: [{ interface: 'eth0', addresses: ['10.0.0.7/24'], hasDefaultRoute: true }],
      next: 'Tries Office again.',
      nextTime: timestampFromMs(70_000),
      attempts: [{ network: 'Office', result: NetworkAttemptResult.WRONG_PASSWORD, time: timestampFromMs(5_000) }],
    },
    'normal, eth0, 10.0.0.7/24, internet, a network of lower priority\nnext: Tries Office again. (in 1 min)\nlast attempt: Office, 5 s ago: wrong password',
  ],
  [
    'rows of configured networks and of settings',
    {
      mode: NetworkMode.NORMAL,
      connectivity: NetworkConnectivity.FULL,
      links: [wifi],
      networks: [
        {
          path: 'agent.additional_networks.roof',
          name: 'roof',
          state: NetworkRowState.OUT_OF_RANGE,
          text: 'stored, not seen any more',
          since: timestampFromMs(5_000),
          lastSeen: timestampFromMs(5_000),
        },
      ],
      settings: [
        {
          path: 'agent.network_configuration.wifi_country',
          state: NetworkRowState.NO_RADIO,
          text: 'this machine has no WiFi radio',
          hasNoEffect: true,
        },
        { path: 'agent.network_configuration.wifi_power_save', state: 99 as NetworkRowState, text: 'of a newer agent' },
      ],
    },
    'normal, Barn on wlan0 (65 %), 10.0.0.7/24, internet\nroof: out of range since 5 s ago, last seen 5 s ago: stored, not seen any more\nwifi_country: no WiFi radio, no effect here: this machine has no WiFi radio\nwifi_power_save: not known: of a newer agent',
  ],
  [
    'a hotspot',
    { mode: NetworkMode.HOTSPOT, connectivity: NetworkConnectivity.NONE, why: 'It was offline for 2 minutes.' },
    'hotspot for provisioning, no link in use, no internet\nIt was offline for 2 minutes.',
  ],
];
for (const [name, network, text] of rows)
  test(`the network of a machine as text: ${name}`, () => {
    assert.equal(networkText(machine(network), 10_000), text);
    assert.equal(networkJson(machine(network)) === null, network === undefined);
  });
