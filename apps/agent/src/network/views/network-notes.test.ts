import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkDevice } from '../../os/network-port.ts';
import { networkNotes } from './network-notes.ts';

const device = (name: string, more: Partial<LinkDevice> = {}): LinkDevice => ({
  interface: name,
  type: name.startsWith('wlan') ? 'wifi' : 'wired',
  state: 'disconnected',
  profile: '',
  ssid: '',
  isHotspot: false,
  addresses: [],
  gateway: '',
  signalPercent: 0,
  hasDefaultRoute: false,
  ...more,
});
const connected = (name: string, addresses: string[], ssid = ''): LinkDevice =>
  device(name, { state: 'connected', addresses, ssid });

const rows: [name: string, devices: LinkDevice[], radio: string, expected: string, notes: string[]][] = [
  ['nothing special', [connected('wlan0', ['10.0.0.2/24', 'fe80::1/64'], 'Home')], 'wlan0', 'wlan0', []],
  ['no radio, and none expected', [connected('eth0', ['10.0.0.2/24'])], '', '', []],
  ['the radio is unplugged', [device('eth0')], '', 'wlan0', ['the WiFi radio wlan0 is not plugged in']],
  [
    'two radios',
    [device('wlan0'), device('wlan1')],
    'wlan0',
    'wlan0',
    ['wlan1 is a second radio: the agent uses wlan0 (hotspot_interface)'],
  ],
  [
    'two radios, one left alone by the system',
    [device('wlan0'), device('wlan1', { state: 'unmanaged' })],
    'wlan0',
    '',
    [],
  ],
  [
    'the configured radio is missing, another one is there',
    [device('wlan0')],
    '',
    'wlan7',
    ['the WiFi radio wlan7 is not plugged in'],
  ],
  [
    'IPv6 only, by WiFi and by cable',
    [connected('wlan0', ['2001:db8::2/64', 'fe80::1/64'], 'Home'), connected('eth0', ['2001:db8::3/64'])],
    'wlan0',
    '',
    ['Home gives IPv6 addresses only', 'eth0 gives IPv6 addresses only'],
  ],
  [
    'an IPv4 address in IPv6 form is an IPv6 address',
    [connected('eth0', ['::ffff:10.0.0.1/96'])],
    '',
    '',
    ['eth0 gives IPv6 addresses only'],
  ],
];

for (const [name, devices, radio, expected, notes] of rows) {
  test(`network notes: ${name}`, () => {
    const state = {
      manager: 'ready',
      version: '1.42.4',
      connectivity: 'full',
      checkedAt: 0,
      nameServers: [],
      devices,
      profiles: [],
      visible: [],
    } as const;
    assert.deepEqual(networkNotes(state, radio, expected), notes);
  });
}
