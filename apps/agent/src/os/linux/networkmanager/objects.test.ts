import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SavedProfile } from '../../network-port.ts';
import { type DBusValue, Variant } from '../dbus/values.ts';
import {
  accessPointsOf,
  devicesOf,
  isOnlySae,
  isTooOld,
  objectsOf,
  radiosWithoutLink,
  securityOf,
  ssidText,
  visibleOf,
} from './objects.ts';

for (const [version, expected] of [
  ['1.29.90', true],
  ['1.30.0', false],
  ['1.30', false],
  ['1.4.4', true],
  ['2.0.0', false],
  ['0.9.6.0', true],
  ['1.52.1-1.fc42', false],
  ['', true],
] as const) {
  test(`NetworkManager ${version || '(no version)'} is ${expected ? 'too old' : 'new enough'}`, () => {
    assert.equal(isTooOld(version), expected);
  });
}

const u = (value: number): Variant => new Variant('u', value);
const s = (value: string): Variant => new Variant('s', value);
const o = (value: string): Variant => new Variant('o', value);
const dict = (entries: Record<string, DBusValue>): Map<string, DBusValue> => new Map(Object.entries(entries));

const [privacy, psk, eap, sae, owe, owetm] = [1, 0x100, 0x200, 0x400, 0x800, 0x1000];
for (const [name, flags, wpa, rsn, expected] of [
  ['open', 0, 0, 0, 'open'],
  ['WEP', privacy, 0, 0, 'wep'],
  ['WPA1', privacy, psk | 0x44, 0, 'wpa-psk'],
  ['WPA2', privacy, 0, psk | 0x88, 'wpa-psk'],
  ['WPA2 and WPA3', privacy, 0, psk | sae | 0x88, 'sae'],
  ['WPA3', privacy, 0, sae | 0x88, 'sae'],
  ['enhanced open', privacy, 0, owe | 0x88, 'owe'],
  ['open beside enhanced open', 0, 0, owetm, 'open'],
  ['enterprise', privacy, 0, eap | 0x88, 'wpa-eap'],
  ['enterprise with 192 bits', privacy, 0, 0x2000, 'wpa-eap'],
  ['a kind of the future', privacy, 0, 0x10_0000, 'unknown'],
] as const) {
  test(`security: ${name} is ${expected}`, () => {
    const point = dict({ Flags: u(flags), WpaFlags: u(wpa), RsnFlags: u(rsn) });
    assert.equal(securityOf(point), expected);
    assert.equal(isOnlySae(point), name === 'WPA3');
  });
}

test('SSIDs of any bytes have a text', () => {
  assert.equal(ssidText(Buffer.from('Café ☕')), 'Café ☕');
  assert.equal(ssidText(Buffer.from([0x41, 0xff, 0x00, 0x7f])), String.raw`A\xff\x00\x7f`);
  assert.equal(ssidText(new Uint8Array(0)), '');
});

const name = 'org.freedesktop.NetworkManager';
const device = (
  of: string,
  type: number,
  state: number,
  more: Record<string, DBusValue> = {},
): Map<string, DBusValue> => dict({ Interface: s(of), DeviceType: u(type), State: u(state), ...more });
const point = (ssid: string, strength: number, mode = 2): Map<string, DBusValue> =>
  dict({
    [`${name}.AccessPoint`]: dict({
      Ssid: new Variant('ay', Buffer.from(ssid)),
      Strength: new Variant('y', strength),
      Mode: u(mode),
      Frequency: u(5180),
    }),
  });
const radio = (of: string, points: readonly string[], active = '/'): Map<string, DBusValue> =>
  dict({
    [`${name}.Device`]: device(of, 2, 100, {
      ActiveConnection: o('/active'),
      Ip4Config: o('/ip4'),
      Ip6Config: o('/ip6'),
    }),
    [`${name}.Device.Wireless`]: dict({ AccessPoints: new Variant('ao', points), ActiveAccessPoint: o(active) }),
  });
const address = (text: string, prefix: number): Map<string, DBusValue> => dict({ address: s(text), prefix: u(prefix) });

const objects = objectsOf(
  dict({
    '/1': radio('wlan0', ['/a', '/b', '/c', '/hidden', '/own'], '/b'),
    '/2': radio('wlan1', ['/a', '/missing']),
    '/3': dict({ [`${name}.Device`]: device('eth0', 1, 20) }),
    '/4': dict({ [`${name}.Device`]: device('lo', 32, 10) }),
    '/5': dict({ [`${name}.Device`]: device('docker0', 13, 10) }),
    '/6': dict({ [`${name}.Device`]: device('veth0', 20, 70, { Ip6Config: o('/ip6') }) }),
    '/a': point('Home', 30),
    '/b': point('Home', 60),
    '/c': point('Cafe', 90),
    '/hidden': point('', 99),
    '/own': point('platform-setup-box', 99, 3),
    '/active': dict({ [`${name}.Connection.Active`]: dict({ Uuid: s('u1'), Default: new Variant('b', true) }) }),
    '/ip4': dict({
      [`${name}.IP4Config`]: dict({
        AddressData: new Variant('aa{sv}', [address('192.168.1.5', 24)]),
        Gateway: s('192.168.1.1'),
      }),
    }),
    '/ip6': dict({ [`${name}.IP6Config`]: dict({ AddressData: new Variant('aa{sv}', [address('2001:db8::5', 64)]) }) }),
  }),
);

test('each radio shows its networks, strongest first, without hidden ones and its own hotspot', () => {
  const visible = visibleOf(objects, () => 5);
  assert.deepEqual(
    visible.map((network) => [network.interface, network.ssid, network.signalPercent, network.seen]),
    [
      ['wlan0', 'Cafe', 90, 5],
      ['wlan0', 'Home', 60, 5],
      ['wlan1', 'Home', 30, 5],
    ],
  );
  assert.equal(accessPointsOf(objects, 'Home').length, 3);
});

test('devices with their links; without loopback', () => {
  const profile = { uuid: 'u1', isHotspot: false } as SavedProfile;
  const devices = devicesOf(objects, [profile]);
  assert.deepEqual(
    devices.map((each) => [each.interface, each.type, each.state]),
    [
      ['docker0', 'other', 'unmanaged'],
      ['eth0', 'wired', 'unavailable'],
      ['veth0', 'wired', 'connecting'],
      ['wlan0', 'wifi', 'connected'],
      ['wlan1', 'wifi', 'connected'],
    ],
  );
  const wlan = devices.find((each) => each.interface === 'wlan0');
  assert.deepEqual(wlan?.addresses, ['192.168.1.5/24', '2001:db8::5/64']);
  assert.deepEqual(
    [wlan.ssid, wlan.signalPercent, wlan.gateway, wlan.hasDefaultRoute],
    ['Home', 60, '192.168.1.1', true],
  );
  assert.equal(devices.find((each) => each.interface === 'veth0')?.hasDefaultRoute, false);
});

test('a radio without a link in the kernel, by its flags', () => {
  const rows: [what: string, state: number, flags: number | undefined, mode: number, isWithout: boolean][] = [
    ['up', 100, 0x1_00_03, 2, false],
    ['no carrier', 100, 0x1, 2, true],
    ['down', 100, 0, 2, true],
    ['still connecting', 70, 0x1, 2, false],
    ['disconnected', 30, 0x1, 2, false],
    ['a hotspot', 100, 0x1, 3, false],
    ['no flags', 100, undefined, 2, false],
  ];
  for (const [what, state, flags, mode, isWithout] of rows) {
    const of = objectsOf(
      dict({
        '/1': dict({
          [`${name}.Device`]: device('wlan0', 2, state, flags === undefined ? {} : { InterfaceFlags: u(flags) }),
          [`${name}.Device.Wireless`]: dict({ Mode: u(mode) }),
        }),
        '/2': dict({ [`${name}.Device`]: device('eth0', 1, 100, { InterfaceFlags: u(1) }) }),
      }),
    );
    assert.deepEqual(radiosWithoutLink(of), isWithout ? ['/1'] : [], what);
  }
  const lost = devicesOf(objects, [], new Set(['/1'])).find((each) => each.interface === 'wlan0');
  assert.deepEqual(
    [lost?.state, lost?.ssid, lost?.profile, lost?.addresses, lost?.hasDefaultRoute],
    ['disconnected', '', '', [], false],
  );
});

test('a radio with a hotspot shows the SSID of the hotspot', () => {
  const profile = { uuid: 'u1', isHotspot: true, ssid: 'platform-setup-box' } as SavedProfile;
  const [first] = devicesOf(objects, [profile]).filter((each) => each.interface === 'wlan0');
  assert.deepEqual([first?.isHotspot, first?.ssid, first?.signalPercent], [true, 'platform-setup-box', 0]);
});

test('objects of other shapes are read as empty', () => {
  assert.equal(objectsOf(undefined).size, 0);
  const odd = objectsOf(dict({ '/1': 5, '/2': dict({ [`${name}.Device`]: dict({ Interface: u(5) }) }) }));
  assert.deepEqual(devicesOf(odd, []), []);
});
