import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkDevice, NetworkState, ProfileMark, SavedProfile } from '../../os/network-port.ts';
import { planHandOver } from './hand-over.ts';

const marks: Readonly<Record<string, ProfileMark | undefined>> = {
  entered: { kind: 'provisioned' },
  hotspot: { kind: 'hotspot' },
  high: { kind: 'additional', name: 'high', digest: 'a' },
  low: { kind: 'additional', name: 'low', digest: 'b' },
  cable: { kind: 'additional', name: 'cable', digest: 'c' },
  theirs: undefined,
};

const profile = (name: string): SavedProfile => ({
  uuid: name,
  name: `platform ${name}`,
  type: name === 'cable' ? 'wired' : 'wifi',
  ssid: name === 'cable' ? '' : name,
  interface: '',
  priority: 0,
  isAutoconnect: true,
  isHidden: false,
  isHotspot: name === 'hotspot',
  mark: marks[name],
});

const link = (of: string, more: Partial<LinkDevice> = {}): LinkDevice => ({
  interface: of === 'cable' ? 'eth0' : 'wlan0',
  type: of === 'cable' ? 'wired' : 'wifi',
  state: 'connected',
  profile: of,
  ssid: of,
  isHotspot: of === 'hotspot',
  addresses: [],
  gateway: '',
  signalPercent: 0,
  hasDefaultRoute: true,
  ...more,
});

const rows: [name: string, profiles: string, devices: LinkDevice[], left: string, removed: string][] = [
  ['the network in use stays', 'high low', [link('high')], 'high', 'low'],
  ['what a user entered stays, used or not', 'entered high', [link('high')], 'entered high', ''],
  ['profiles of others are none of its business', 'theirs low', [link('theirs')], '', 'low'],
  ['each link in use stays', 'high low cable', [link('high'), link('cable')], 'high platform cable', 'low'],
  [
    'a link without a default route stays, too',
    'high low cable',
    [link('high'), link('cable', { hasDefaultRoute: false })],
    'high platform cable',
    'low',
  ],
  [
    'a network that is just being joined stays',
    'high low',
    [link('cable'), link('low', { state: 'connecting', hasDefaultRoute: false })],
    'low',
    'high',
  ],
  ['offline: each may be the way back', 'high low', [], 'high low', ''],
  [
    'connected to a sensor only: offline',
    'high cable',
    [link('cable', { hasDefaultRoute: false })],
    'high platform cable',
    '',
  ],
  ['the hotspot of the agent is not a link', 'high low hotspot', [link('hotspot')], 'high low', ''],
];

const stateOf = (profiles: string, devices: LinkDevice[]): NetworkState => ({
  manager: 'ready',
  version: '1.42.4',
  connectivity: 'full',
  checkedAt: 0,
  nameServers: [],
  devices,
  profiles: profiles.split(' ').map(profile),
  visible: [],
});

for (const [name, profiles, devices, left, removed] of rows) {
  test(`release: ${name}`, () => {
    const plan = planHandOver(stateOf(profiles, devices));
    const text = (of: readonly { name: string }[]): string => of.map((one) => one.name).join(' ');
    assert.deepEqual([text(plan.left), text(plan.removed)], [left, removed]);
  });
}

test('release: on demand, all of this agent are removed and none of others', () => {
  const { left, removed } = planHandOver(stateOf('entered high theirs hotspot', [link('high')]), true);
  assert.deepEqual([left, removed.map(({ uuid }) => uuid)], [[], ['entered', 'high']]);
});
