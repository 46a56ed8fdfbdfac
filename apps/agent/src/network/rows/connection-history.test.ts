// Since when a link is as it is, and why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkDevice, NetworkState, SavedProfile } from '../../os/network-port.ts';
import { ConnectionHistory, linkWhy } from './connection-history.ts';
import type { NetworkAttempt } from './network-status.ts';

const wifi: LinkDevice = {
  interface: 'wlan0',
  type: 'wifi',
  state: 'connected',
  profile: 'barn',
  ssid: 'Barn',
  isHotspot: false,
  addresses: ['10.0.0.7/24'],
  gateway: '10.0.0.1',
  signalPercent: 60,
  hasDefaultRoute: true,
};
const wired: LinkDevice = { ...wifi, interface: 'eth0', type: 'wired', profile: '', ssid: '', signalPercent: 0 };
const saved: SavedProfile = {
  uuid: 'barn',
  name: 'Barn WiFi',
  type: 'wifi',
  ssid: 'Barn',
  interface: '',
  priority: 5,
  isAutoconnect: true,
  isHidden: false,
  isHotspot: false,
  mark: undefined,
};
const additional = { kind: 'additional', name: 'barn', digest: '' } as const;
const seen = {
  ssid: 'Barn',
  interface: 'wlan0',
  security: 'sae',
  signalPercent: 5,
  frequencyMhz: 2412,
  seen: 0,
} as const;
const failed: NetworkAttempt = {
  network: 'Barn',
  interface: 'wlan0',
  wall: 0,
  result: 'wrong-password',
  text: 'The password of Barn is wrong.',
};

const rows: readonly [
  why: string,
  link: LinkDevice,
  of?: { profiles?: readonly SavedProfile[]; visible?: NetworkState['visible']; attempts?: readonly NetworkAttempt[] },
][] = [
  ['profile Barn WiFi of the operating system, priority 5', wifi, { profiles: [saved] }],
  ['additional network barn, priority 5', wifi, { profiles: [{ ...saved, mark: additional }] }],
  [
    'entered when the machine was set up, priority 5',
    { ...wifi, state: 'connecting' },
    { profiles: [{ ...saved, mark: { kind: 'provisioned' } }], attempts: [failed] },
  ],
  ['', wifi, {}],
  ['the hotspot of this machine', { ...wifi, isHotspot: true }, { profiles: [saved] }],
  ['The password of Barn is wrong.', { ...wifi, state: 'failed' }, { attempts: [failed] }],
  ['the connection failed', { ...wifi, state: 'failed' }, { attempts: [{ ...failed, interface: 'wlan1' }] }],
  ['The password of Barn is wrong.', { ...wifi, state: 'disconnected' }, { attempts: [failed], visible: [seen] }],
  [
    'no known network is joined',
    { ...wifi, state: 'disconnected' },
    { attempts: [{ ...failed, result: 'ok', text: '' }, failed], profiles: [saved], visible: [seen] },
  ],
  [
    'no known network is in reach',
    { ...wifi, state: 'disconnected' },
    { profiles: [saved], visible: [{ ...seen, interface: 'wlan1' }] },
  ],
  ['no profile is active for it', { ...wired, state: 'disconnected' }],
  ['no cable is plugged in, or nothing answers at its other end', { ...wired, state: 'unavailable' }],
  ['the radio is switched off', { ...wifi, state: 'unavailable' }],
  ['NetworkManager does not manage it', { ...wired, state: 'unmanaged' }],
];
for (const [why, link, { profiles = [], visible = [], attempts = [] } = {}] of rows) {
  test(`${link.interface}, ${link.state}: ${why || 'nothing is known'}`, () => {
    assert.equal(linkWhy(link, { devices: [link], profiles, visible }, attempts), why);
  });
}

test('a link keeps its instant until its state or its network changes', () => {
  const history = new ConnectionHistory();
  const sinceAt = (wall: number, ...devices: LinkDevice[]) =>
    history.note({ devices, profiles: [], visible: [] }, [], wall).map((link) => link.sinceWall);
  assert.deepEqual(sinceAt(1, wifi), [1]);
  assert.deepEqual(sinceAt(2, { ...wifi, signalPercent: 1, addresses: [], hasDefaultRoute: false }), [1]);
  assert.deepEqual(sinceAt(3, wired, wifi), [3, 1]);
  assert.deepEqual(sinceAt(4, wired, { ...wifi, ssid: 'Office' }), [3, 4]);
  assert.deepEqual(sinceAt(5, { ...wired, state: 'unavailable' }), [5], 'the radio is gone');
  assert.deepEqual(sinceAt(6, wired, { ...wifi, ssid: 'Office' }), [6, 6], 'the radio is new again');
});
