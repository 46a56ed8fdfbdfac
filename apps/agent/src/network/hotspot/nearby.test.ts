import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VisibleNetwork } from '../../os/network-port.ts';
import { withNearby } from './scans.ts';

const network = (ssid: string, seen: number, signalPercent = 50): VisibleNetwork => ({
  ssid,
  seen,
  signalPercent,
  interface: 'wlan0',
  security: 'wpa-psk',
  frequencyMhz: 2412,
});

const minute = 60_000;
const rows: [what: string, before: VisibleNetwork[], visible: VisibleNetwork[], after: VisibleNetwork[]][] = [
  ['a network stays while the radio is the hotspot', [network('A', 0)], [], [network('A', 0)]],
  ['the newest sighting counts', [network('A', 0, 10)], [network('A', minute, 90)], [network('A', minute, 90)]],
  ['just before five minutes it stays', [network('A', 1)], [], [network('A', 1)]],
  ['at five minutes it goes', [network('A', -minute)], [], []],
];
for (const [what, before, visible, after] of rows) {
  test(`networks for the page: ${what}`, () => {
    const now = what.startsWith('just before') ? 5 * minute : 4 * minute;
    assert.deepEqual(withNearby(before, visible, now), after);
  });
}
