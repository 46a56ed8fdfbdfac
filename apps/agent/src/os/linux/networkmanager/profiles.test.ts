import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Eap, NewProfile } from '../../network-port.ts';
import { type DBusValue, Variant } from '../dbus/values.ts';
import {
  certificateFilesIn,
  profileSettings,
  savedProfile,
  type Settings,
  withoutMark,
  withPriority,
} from './profiles.ts';

const uuid = '11111111-2222-3333-4444-555555555555';
const profile = (how: Partial<NewProfile>): NewProfile => ({
  name: 'x',
  type: 'wifi',
  interface: '',
  priority: 5,
  isAutoconnect: true,
  mark: { kind: 'provisioned' },
  dns: [],
  routeMetric: 600,
  ...how,
});
const seen = (ssid: string, how = {}) => ({ ssid: Buffer.from(ssid), isOnlySae: false, isOwe: false, ...how });

function plain(value: DBusValue | undefined): unknown {
  if (value instanceof Variant) return plain(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]));
  return Array.isArray(value) ? value.map(plain) : value;
}
const sections = (settings: Settings): Record<string, Record<string, unknown>> =>
  plain(settings) as Record<string, Record<string, unknown>>;

const wifi = (security: NonNullable<NewProfile['wifi']>['security'], isHidden = false) => ({
  ssid: 'Home',
  isHidden,
  security,
});
const security = '802-11-wireless-security';

test('a hidden network with WPA2 and WPA3', () => {
  const of = profile({ wifi: wifi({ is: 'psk', psk: 'password1' }, true) });
  const written = sections(profileSettings(of, uuid, seen('Home')));
  assert.deepEqual(written['802-11-wireless'], { ssid: 'Home', mode: 'infrastructure', hidden: true });
  assert.deepEqual(written[security], { 'key-mgmt': 'wpa-psk', psk: 'password1' });
  const only = sections(profileSettings(of, uuid, seen('Home', { isOnlySae: true })));
  assert.equal(only[security]?.['key-mgmt'], 'sae');
});

test('an open network, and one with opportunistic encryption', () => {
  const of = profile({ wifi: wifi({ is: 'open' }) });
  assert.equal(security in sections(profileSettings(of, uuid, seen('Home'))), false);
  assert.deepEqual(sections(profileSettings(of, uuid, seen('Home', { isOwe: true })))[security], { 'key-mgmt': 'owe' });
});

test('a static address with gateway, DNS and metric, on a cable', () => {
  const ipv4 = { address: '192.168.7.20/24', gateway: '192.168.7.1' };
  const of = profile({ type: 'wired', interface: 'eth0', ipv4, dns: ['1.2.3.4', '200.0.0.255'], routeMetric: 100 });
  const written = sections(profileSettings(of, uuid, seen('')));
  assert.deepEqual(written['ipv4'], {
    'route-metric': 100n,
    dns: [0x04030201, 0xff0000c8],
    method: 'manual',
    'address-data': [{ address: '192.168.7.20', prefix: 24 }],
    gateway: '192.168.7.1',
    'dad-timeout': 3_000,
  });
  assert.equal(written['connection']?.['interface-name'], 'eth0');
  assert.deepEqual(written['802-3-ethernet'], {});
  const withoutGateway = profile({ type: 'wired', ipv4: { ...ipv4, gateway: '' } });
  assert.equal('gateway' in (sections(profileSettings(withoutGateway, uuid, seen('')))['ipv4'] ?? {}), false);
});

const eap: Eap = {
  method: 'peap',
  innerMethod: 'mschapv2',
  identity: 'me',
  anonymousIdentity: 'anonymous',
  password: 'secret',
  authority: 'PEM of the authority',
  serverName: 'radius.example',
  clientCertificate: 'PEM of the certificate',
  clientKey: 'PEM of the key',
  clientKeyPassword: '',
};
for (const [name, of, expected] of [
  [
    'PEAP',
    eap,
    {
      eap: ['peap'],
      identity: 'me',
      'anonymous-identity': 'anonymous',
      'ca-cert': 'PEM of the authority',
      'domain-match': 'radius.example',
      'phase2-auth': 'mschapv2',
      password: 'secret',
    },
  ],
  [
    'TTLS with the authorities of the system',
    { ...eap, method: 'ttls', authority: '', serverName: '', anonymousIdentity: '' },
    { eap: ['ttls'], identity: 'me', 'system-ca-certs': true, 'phase2-auth': 'mschapv2', password: 'secret' },
  ],
  [
    'TTLS with PAP',
    { ...eap, method: 'ttls', innerMethod: 'pap', authority: '', serverName: '', anonymousIdentity: '' },
    { eap: ['ttls'], identity: 'me', 'system-ca-certs': true, 'phase2-auth': 'pap', password: 'secret' },
  ],
  [
    'TTLS with GTC, which is an EAP method in the tunnel',
    { ...eap, method: 'ttls', innerMethod: 'gtc', authority: '', serverName: '', anonymousIdentity: '' },
    { eap: ['ttls'], identity: 'me', 'system-ca-certs': true, 'phase2-autheap': 'gtc', password: 'secret' },
  ],
  [
    'PEAP with GTC',
    { ...eap, innerMethod: 'gtc', authority: '', serverName: '', anonymousIdentity: '' },
    { eap: ['peap'], identity: 'me', 'system-ca-certs': true, 'phase2-auth': 'gtc', password: 'secret' },
  ],
  [
    'TLS',
    { ...eap, method: 'tls', anonymousIdentity: '' },
    {
      eap: ['tls'],
      identity: 'me',
      'ca-cert': 'PEM of the authority',
      'domain-match': 'radius.example',
      'client-cert': 'PEM of the certificate',
      'private-key': 'PEM of the key',
      'private-key-password-flags': 4,
    },
  ],
] as const) {
  test(`WPA enterprise by ${name}`, () => {
    const written = sections(profileSettings(profile({ wifi: wifi({ is: 'eap', eap: of }) }), uuid, seen('Home')));
    assert.deepEqual(written[security], { 'key-mgmt': 'wpa-eap' });
    assert.deepEqual(written['802-1x'], expected);
  });
}

test('a profile is read as it was written, whoever reads it', () => {
  const mark = { kind: 'additional', name: 'a "b"', digest: 'c' } as const;
  const of = profile({ mark, wifi: wifi({ is: 'open' }), isAutoconnect: false });
  const read = savedProfile(profileSettings(of, uuid, seen('Home')));
  assert.deepEqual(read, {
    uuid,
    name: 'x',
    type: 'wifi',
    ssid: 'Home',
    interface: '',
    priority: 5,
    isAutoconnect: false,
    isHidden: false,
    isHotspot: false,
    mark,
  });
});

const ofUser = (text: string): ReadonlyMap<string, DBusValue> =>
  new Map([['user', new Map([['data', new Variant('a{ss}', new Map([['org.platform.mark', text]]))]])]]);
for (const text of ['', '{', 'null', '7', '{"kind":"root"}', '{"kind":"additional"}', '{"kind":"additional","name":1}'])
  test(`the mark ${text || '(empty)'} is not one of this agent`, () =>
    assert.equal(savedProfile(ofUser(text)).mark, undefined));

test('the files in which NetworkManager keeps certificates of a profile, and no others', () => {
  const folder = '/etc/NetworkManager/system-connections';
  const files = (path: string): readonly string[] => {
    const section = new Map([['private-key', new Variant('ay', Buffer.from(path))]]);
    return certificateFilesIn(new Map([['802-1x', section]]), uuid);
  };
  assert.deepEqual(files(`file://${folder}/${uuid}-private-key.pem\0`), [`${folder}/${uuid}-private-key.pem`]);
  for (const other of [
    `file://${folder}/22222222-private-key.pem\0`,
    `file://${folder}/${uuid}-../../../etc/shadow.pem\0`,
    `file:///home/me/${uuid}-private-key.pem\0`,
    `x file://${folder}/${uuid}-private-key.pem\0`,
    'file:///etc/ssl/me.pem\0',
    '-----BEGIN PRIVATE KEY-----',
    '',
  ])
    assert.deepEqual(files(other), [], other);
  assert.deepEqual(certificateFilesIn(undefined, uuid), []);
});

test('values of other types are read as empty', () => {
  const odd = new Map<string, DBusValue>([
    ['connection', new Map([['uuid', new Variant('u', 7)]])],
    ['802-11-wireless', 5],
  ]);
  assert.deepEqual(
    [savedProfile(odd).uuid, savedProfile(odd).ssid, savedProfile(undefined).isAutoconnect],
    ['', '', true],
  );
});

test('a change keeps what others wrote, without the deprecated forms of addresses', () => {
  const others = new Variant(
    'a{ss}',
    new Map([
      ['org.other.note', 'kept'],
      ['org.platform.mark', '{"kind":"provisioned"}'],
    ]),
  );
  const before = new Map([
    [
      'connection',
      new Map([
        ['id', new Variant('s', 'x')],
        ['zone', new Variant('s', 'home')],
      ]),
    ],
    [
      'ipv6',
      new Map([
        ['addresses', new Variant('a(ayuay)', [])],
        ['routes', new Variant('a(ayuayu)', [])],
        ['method', new Variant('s', 'auto')],
      ]),
    ],
    ['user', new Map([['data', others]])],
  ]);
  const lowered = sections(withPriority(before, 998));
  assert.deepEqual(lowered['connection'], { id: 'x', zone: 'home', 'autoconnect-priority': 998 });
  assert.deepEqual(lowered['ipv6'], { method: 'auto' });
  assert.deepEqual(sections(withoutMark(before))['user'], { data: { 'org.other.note': 'kept' } });
});
