// Every field of network_configuration and additional_networks, as a machine uses it: absent, null, empty, valid, at its
// limits, beyond them, of a wrong type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { checkConfig } from '@platform/contract/config/config';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';

/** A value as given, and what is used instead; absent: the value itself. */
type FieldValue = readonly [given: unknown, used?: unknown];
interface Row {
  /** 0, false or "". */
  empty: FieldValue;
  valid: readonly FieldValue[];
  limits: readonly FieldValue[];
  beyond: readonly FieldValue[];
  wrong: readonly FieldValue[];
}
/** The network is left out. */
const refused = Symbol('refused');

const flag = (fallback: boolean | null): Row => ({
  empty: [false],
  valid: [[true], [false]],
  limits: [],
  beyond: [],
  wrong: ['yes', 1, [], {}].map((given) => [given, fallback]),
});
/** @param max - in minutes. */
const minutes = (fallback: number, min: number, max: number): Row => ({
  empty: [0, min === 0 ? 0 : fallback],
  valid: [[60], ['1h0m0s', 60]],
  limits: [[Math.max(min, 10)], [max]],
  beyond: [
    [-1, fallback],
    [max + 1, max],
  ],
  wrong: ['soon', '', true, [5], {}, 7.5].map((given) => [given, fallback]),
});
const text = (fallback: string, more: Partial<Row> = {}): Row => ({
  empty: [''],
  valid: [['some text'], ['Ünïcode']],
  limits: [],
  beyond: [],
  wrong: [0, true, [], {}].map((given) => [given, fallback]),
  ...more,
});
const week = 7 * 24 * 60;
const interfaceName: Row = text('', {
  valid: [['wlan0'], ['enp0s31f6']],
  limits: [['x'.repeat(15)]],
  beyond: [
    ['x'.repeat(16), ''],
    ['a/b', ''],
    ['a b', ''],
  ],
});

const configuration: Record<keyof typeof fieldTable.network_configuration, Row> = {
  device_reboot_after_offline_minutes: minutes(0, 0, 30 * 24 * 60),
  disable_captive_portal_redirect: flag(false),
  fragment_id: text(''),
  hotspot_interface: interfaceName,
  hotspot_password: text('platformsetup', {
    empty: ['', 'platformsetup'],
    valid: [['long enough']],
    limits: [['12345678'], ['x'.repeat(63)]],
    beyond: ['1234567', 'x'.repeat(64), 'pässwörter'].map((given) => [given, 'platformsetup']),
  }),
  hotspot_prefix: text('platform-setup', {
    empty: ['', 'platform-setup'],
    limits: [['x'], ['x'.repeat(31)]],
    beyond: ['x'.repeat(32), 'ü'.repeat(16)].map((given) => [given, 'platform-setup']),
  }),
  manufacturer: text('platform'),
  model: text('custom'),
  offline_before_starting_hotspot_minutes: minutes(2, 1, week),
  retry_connection_timeout_minutes: minutes(10, 1, week),
  turn_on_hotspot_if_wifi_has_no_internet: flag(false),
  user_idle_minutes: minutes(5, 1, week),
  wifi_power_save: flag(null),
  hotspot_ssid: text('', {
    limits: [['x'.repeat(32)], ['ü'.repeat(16)]],
    beyond: ['x'.repeat(33), 'ü'.repeat(17)].map((given) => [given, '']),
  }),
  disable_bt_provisioning: flag(false),
  disable_wifi_provisioning: flag(false),
  hotspot_band: text('', {
    valid: [['2.4'], ['5']],
    beyond: ['6', '2', 'auto'].map((given) => [given, '']),
  }),
  hotspot_share_internet: flag(false),
  wifi_country: text('', {
    valid: [['DE'], ['US']],
    beyond: ['de', 'D', 'DEU', '00'].map((given) => [given, '']),
  }),
};

const vital = (more: Partial<Row> = {}): Row => {
  const row = text('', more);
  return { ...row, wrong: row.wrong.map(([given]) => [given, refused]) };
};
const block = (kind: string): string => `-----BEGIN ${kind}-----\nMIIB\n-----END ${kind}-----\n`;
const pem = (kind: string): Row =>
  vital({
    valid: [[block(kind)], [`subject=CN\n${block(kind)}${block(kind)}`]],
    limits: [[block(kind).padEnd(16_384, '\n')]],
    beyond: ['MIIB', block('X'), block(kind).padEnd(16_385, '\n')].map((given) => [given, refused]),
  });
const eapText: Row = vital({ limits: [['x'.repeat(253)]], beyond: [['x'.repeat(254), refused]] });

const network: Record<keyof typeof fieldTable.additional_networks, Row> = {
  type: vital({ empty: ['', refused], valid: [['wifi'], ['wired']], beyond: [['bluetooth', refused]] }),
  interface: interfaceName,
  ssid: vital({
    empty: ['', refused],
    limits: [['x'.repeat(32)], ['ü'.repeat(16)]],
    beyond: ['x'.repeat(33), 'ü'.repeat(17)].map((given) => [given, refused]),
  }),
  psk: vital({
    valid: [['long enough']],
    limits: [['12345678'], ['x'.repeat(63)], ['0aF'.repeat(21) + '9']],
    beyond: ['1234567', 'x'.repeat(64), 'a'.repeat(65)].map((given) => [given, refused]),
  }),
  priority: {
    empty: [0],
    valid: [[7], [-7]],
    limits: [[-999], [999]],
    beyond: [
      [-1000, -999],
      [1000, 999],
    ],
    wrong: ['high', true, [], {}, 1.5].map((given) => [given, 0]),
  },
  ipv4_address: vital({
    valid: [['auto'], ['192.168.1.20/24']],
    limits: [['10.0.0.2/31'], ['10.0.0.1/32'], ['10.0.0.1/30']],
    beyond: [
      '192.168.1.20',
      '192.168.1.20/33',
      '192.168.1.256/24',
      '192.168.1.0/24',
      '192.168.1.255/24',
      'fd00::1/64',
    ].map((given) => [given, refused]),
  }),
  ipv4_gateway: vital({ valid: [['192.168.1.1']], beyond: ['192.168.1', 'fd00::1'].map((given) => [given, refused]) }),
  ipv4_dns: {
    empty: [[]],
    valid: [[['1.1.1.1', '8.8.8.8']]],
    limits: [],
    beyond: [
      [['1.1.1.1', 'dns'], ['1.1.1.1']],
      [['dns'], []],
    ],
    wrong: ['1.1.1.1', 0, true, {}, [1]].map((given) => [given, []]),
  },
  ipv4_route_metric: {
    empty: [0],
    valid: [[50]],
    limits: [[4_294_967_295]],
    beyond: [
      [4_294_967_296, 4_294_967_295],
      [-1, 0],
    ],
    wrong: ['low', true, [], {}, 1.5].map((given) => [given, 0]),
  },
  name: text(''),
  hidden: flag(false),
  eap_method: vital({ valid: [['peap'], ['ttls'], ['tls']], beyond: [['md5', refused]] }),
  eap_inner_method: vital({ valid: [['mschapv2'], ['gtc']], beyond: ['pap', 'md5'].map((given) => [given, refused]) }),
  eap_identity: eapText,
  eap_anonymous_identity: eapText,
  eap_password: eapText,
  eap_ca_certificate: pem('CERTIFICATE'),
  eap_server_name: eapText,
  eap_client_certificate: pem('CERTIFICATE'),
  eap_client_key: pem('ENCRYPTED PRIVATE KEY'),
  eap_client_key_password: eapText,
};

/** Every value of a field with what is used. Absent and null are the default, and no mistake. */
const all = ({ empty, valid, limits, beyond, wrong }: Row): readonly FieldValue[] => [
  empty,
  ...valid,
  ...limits,
  ...beyond,
  ...wrong,
];
const usedOf = (given: FieldValue): unknown => (given.length === 1 ? given[0] : given[1]);
const isCorrected = (given: FieldValue): boolean =>
  given.length > 1 && !(typeof given[0] === 'string' && /^\d+h/.test(given[0])) && given[0] !== given[1];

const configurationOf = (fields: object) => resolveAgentConfig({ cloud: { network_configuration: fields } });

for (const [key, row] of Object.entries(configuration)) {
  test(`network_configuration.${key}: each value is used, or corrected and reported`, () => {
    const { default: fallback } = fieldTable.network_configuration[key as keyof typeof configuration];
    const read = (fields: object): unknown[] => {
      const { config, corrections } = configurationOf(fields);
      const used = config.network_configuration[key as keyof typeof configuration];
      return [used, corrections.map(({ path }) => path)];
    };
    assert.deepEqual(read({}), [fallback, []]);
    assert.deepEqual(read({ [key]: null }), [fallback, []]);
    for (const given of all(row)) {
      const path = isCorrected(given) ? [`agent.network_configuration.${key}`] : [];
      assert.deepEqual(read({ [key]: given[0] }), [usedOf(given), path], JSON.stringify(given[0]));
    }
  });
}

/** What a network needs beside the field, so that the field alone decides. */
function networkWith(key: string, value: unknown): Record<string, unknown> {
  const wifi = { type: 'wifi', ssid: 'home' };
  const peap = { ...wifi, eap_method: 'peap', eap_identity: 'me', eap_password: 'secret' };
  const tls = {
    ...wifi,
    eap_method: 'tls',
    eap_identity: 'me',
    eap_client_certificate: block('CERTIFICATE'),
    eap_client_key: block('PRIVATE KEY'),
  };
  const isTls = key.startsWith('eap_client') || value === 'tls';
  if (key === 'ipv4_gateway') return { ...wifi, ipv4_address: '192.168.1.20/24', [key]: value };
  if (!key.startsWith('eap_') || value === '' || value === undefined || value === null)
    return { ...wifi, [key]: value };
  return { ...(isTls ? tls : peap), [key]: value };
}

for (const [key, row] of Object.entries(network)) {
  test(`additional_networks: ${key}: each value is used, corrected, or refused with its network alone`, () => {
    const field = fieldTable.additional_networks[key as keyof typeof network];
    const other = { type: 'wired', interface: 'eth9' };
    const read = (value: unknown): unknown[] => {
      const { config, corrections } = resolveAgentConfig({
        cloud: { additional_networks: [networkWith(key, value), other] },
      });
      const found = config.additional_networks;
      assert.equal(found.at(-1)?.interface, 'eth9', 'the other network is used');
      const used = found.length === 2 ? found[0]?.[key as keyof typeof network] : refused;
      return [used, corrections.map(({ path }) => path)];
    };
    const isRequired = key === 'type' || key === 'ssid';
    // A network without a name is named after its SSID.
    const fallback = isRequired ? refused : key === 'name' ? 'home' : 'default' in field ? field.default : undefined;
    const place = `agent.additional_networks[0].${key}`;
    for (const value of [undefined, null]) assert.deepEqual(read(value), [fallback, isRequired ? [place] : []]);
    for (const given of all(row)) {
      const used = key === 'name' && usedOf(given) === '' ? 'home' : usedOf(given);
      assert.deepEqual(read(given[0]), [used, isCorrected(given) ? [place] : []], JSON.stringify(given[0]));
    }
  });
}

test('a list and an object from name to network are the same networks', () => {
  const home = { type: 'wifi', ssid: 'home', psk: '12345678' };
  const cable = { type: 'wired', interface: 'eth0', ipv4_address: '10.0.0.2/24', ipv4_gateway: '10.0.0.1' };
  const list = [
    { ...home, name: 'a' },
    { ...cable, name: 'b' },
  ];
  const [ofList, ofObject] = [list, { a: home, b: cable }].map((additional_networks) =>
    resolveAgentConfig({ cloud: { additional_networks } }),
  );
  const inList = ofList?.networkPlaces.map(({ path }) => path);
  assert.deepEqual(inList, ['agent.additional_networks[0]', 'agent.additional_networks[1]']);
  const named = ['agent.additional_networks.a', 'agent.additional_networks.b'];
  const networkPlaces = ofList?.networkPlaces.map((place, index) => ({ ...place, path: named[index] }));
  assert.deepEqual(ofObject, { ...ofList, networkPlaces }, 'apart from where they stand');
  assert.deepEqual(
    ofList?.config.additional_networks.map(({ name }) => name),
    ['a', 'b'],
  );
});

const cable = { type: 'wired', ipv4_address: '192.168.1.20/24' };
const office = { type: 'wifi', ssid: 'office' };
const rules: [name: string, network: object, key: string, severity: 'error' | 'warning'][] = [
  ['a gateway in another subnet', { ...cable, ipv4_gateway: '192.168.2.1' }, 'ipv4_gateway', 'error'],
  ['a gateway that is the machine itself', { ...cable, ipv4_gateway: '192.168.1.20' }, 'ipv4_gateway', 'error'],
  ['the address of the subnet', { type: 'wired', ipv4_address: '10.1.0.0/16' }, 'ipv4_address', 'error'],
  ['the broadcast address', { type: 'wired', ipv4_address: '10.1.255.255/16' }, 'ipv4_address', 'error'],
  ['an identity without a method', { ...office, eap_identity: 'me' }, 'eap_method', 'error'],
  [
    'peap without a password',
    { ...office, eap_method: 'peap', eap_identity: 'me', eap_server_name: 'r' },
    'eap_password',
    'error',
  ],
  [
    'ttls without an identity',
    { ...office, eap_method: 'ttls', eap_password: 'x', eap_server_name: 'r' },
    'eap_identity',
    'error',
  ],
  [
    'tls without a key',
    {
      ...office,
      eap_method: 'tls',
      eap_identity: 'me',
      eap_server_name: 'r',
      eap_client_certificate: block('CERTIFICATE'),
    },
    'eap_client_key',
    'error',
  ],
  [
    'a common password beside a method',
    { ...office, psk: '12345678', eap_method: 'peap', eap_identity: 'me', eap_password: 'x' },
    'psk',
    'error',
  ],
  [
    'an inner method that peap does not have',
    {
      ...office,
      eap_method: 'peap',
      eap_inner_method: 'pap',
      eap_identity: 'me',
      eap_password: 'x',
      eap_server_name: 'r',
    },
    'eap_inner_method',
    'error',
  ],
  ['an inner method without a method', { ...office, eap_inner_method: 'pap' }, 'eap_method', 'error'],
  [
    'an inner method with tls',
    {
      ...office,
      eap_method: 'tls',
      eap_inner_method: 'gtc',
      eap_identity: 'me',
      eap_server_name: 'r',
      eap_client_certificate: block('CERTIFICATE'),
      eap_client_key: block('PRIVATE KEY'),
    },
    'eap_inner_method',
    'error',
  ],
  [
    'a server that nothing proves',
    { ...office, eap_method: 'peap', eap_identity: 'me', eap_password: 'x' },
    'eap_server_name',
    'warning',
  ],
  ['a hidden cable', { type: 'wired', hidden: true }, 'hidden', 'warning'],
];
for (const [name, given, key, severity] of rules) {
  test(`additional_networks: ${name} is a ${severity} when it is saved, and an error keeps the network from a machine`, () => {
    const agent = { additional_networks: [given, { type: 'wired', interface: 'eth9' }] };
    const problems = checkConfig({ agent }).map(({ path, severity: found }) => [path, found]);
    assert.deepEqual(problems, [[`agent.additional_networks[0].${key}`, severity]]);
    const { config, corrections } = resolveAgentConfig({ cloud: agent });
    assert.equal(config.additional_networks.length, severity === 'error' ? 1 : 2);
    assert.deepEqual(
      corrections.map(({ path }) => path),
      severity === 'error' ? [`agent.additional_networks[0].${key}`] : [],
    );
  });
}

test('a complete network of each enterprise method has no problem', () => {
  const base = { type: 'wifi', eap_identity: 'me', eap_ca_certificate: block('CERTIFICATE') };
  const tls = { eap_client_certificate: block('CERTIFICATE'), eap_client_key: block('EC PRIVATE KEY') };
  const additional_networks = [
    { ...base, ssid: 'a', eap_method: 'peap', eap_password: 'x' },
    { ...base, ssid: 'b', eap_method: 'ttls', eap_password: 'x', eap_anonymous_identity: 'anyone' },
    ...['mschapv2', 'gtc', 'pap', 'chap', 'mschap'].map((eap_inner_method) => ({
      ...base,
      ssid: eap_inner_method,
      eap_method: 'ttls',
      eap_inner_method,
      eap_password: 'x',
    })),
    { ...base, ssid: 'c', eap_method: 'tls', ...tls, eap_client_key_password: 'x' },
  ];
  assert.deepEqual(checkConfig({ agent: { additional_networks } }), []);
});

test('a key of other agents that platform-agent does without is named when it is saved', () => {
  const agent = { network_configuration: { bluetooth_trust_all: true } };
  assert.deepEqual(
    checkConfig({ agent }).map(({ path, message }) => [path, message]),
    [
      [
        'agent.network_configuration.bluetooth_trust_all',
        'has no effect with platform-agent; agents of other products act on it.',
      ],
    ],
  );
});
