import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  MachineSchema,
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkMode,
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
      since: timestampFromMs(0),
      links: [wifi],
      attempts: [{ network: 'Barn', result: NetworkAttemptResult.OK }],
    },
    'normal, Barn on wlan0 (65 %), 10.0.0.7/24, internet, since 10 s ago',
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
