import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  hasPlaceholder,
  hideSecrets,
  keepSecrets,
  revealedSecrets,
  secretPlaceholder,
} from '@platform/contract/config/placeholders';

const hidden = JSON.stringify(secretPlaceholder);

const saved = `{ "agent" : {
  "network_configuration": {"hotspot_password":"open\\u0020sesame", "hotspot_prefix": "psk"},
  "advanced_settings": { "viam_server_env": {"MODE": "fast", "EMPTY": ""} },
  "additional_networks": [ {"type":"wifi","ssid":"Garage","psk":"p-a-s-s-\\"w\\"","priority": 1.0},
    {"type":"wifi", "ssid":"Office", "eap_password": "x", "eap_client_key_password":"y","psk":""} ]
}, "components": [{"attributes": {"psk": "no field of the schema", "n": 1e2}}] }`;

const values = {
  'agent.network_configuration.hotspot_password': 'open sesame',
  'agent.advanced_settings.viam_server_env.MODE': 'fast',
  'agent.additional_networks[0].psk': 'p-a-s-s-"w"',
  'agent.additional_networks[1].eap_password': 'x',
  'agent.additional_networks[1].eap_client_key_password': 'y',
};

test('the placeholder replaces the tokens of the secrets of the schema, and no other byte', () => {
  let expected = saved;
  for (const raw of ['"open\\u0020sesame"', '"fast"', '"p-a-s-s-\\"w\\""', '"x"', '"y"'])
    expected = expected.replace(raw, hidden);
  assert.equal(hideSecrets(saved), expected);
  assert.equal(hideSecrets(expected), expected);
  assert.deepEqual(Object.fromEntries(revealedSecrets(saved).map(({ path, value }) => [path, value])), values);
  assert.equal(hasPlaceholder(saved), false);
  assert.equal(hasPlaceholder(expected), true);
});

test('saving a text with placeholders gives the saved text again, byte for byte', () => {
  const kept = keepSecrets(hideSecrets(saved), [saved]);
  const own = Object.entries(values).map(([path, value]) => ({ path, savedPath: path, value }));
  assert.deepEqual(kept, { text: saved, problems: [], values: own });
});

const networks = (list: unknown): string => JSON.stringify({ agent: { additional_networks: list } });
const ofNetworks = (text: string): unknown =>
  (JSON.parse(text) as { agent: Record<string, unknown> }).agent['additional_networks'];
const home = { type: 'wifi', ssid: 'Home', psk: 'home secret' };
const garage = { type: 'wifi', name: 'g', ssid: 'Garage', psk: 'garage secret' };
const psk = secretPlaceholder;

const moves: readonly [what: string, before: unknown, after: unknown, psks: readonly string[]][] = [
  [
    'reordered',
    [home, garage],
    [
      { ...garage, psk },
      { ...home, psk },
    ],
    ['garage secret', 'home secret'],
  ],
  ['one removed', [home, garage], [{ ...garage, psk }], ['garage secret']],
  [
    'one inserted',
    [home],
    [
      { ssid: 'New', psk: 'new secret' },
      { ...home, psk, priority: 3 },
    ],
    ['new secret', 'home secret'],
  ],
  ['another SSID, same name', [garage], [{ ...garage, psk, ssid: 'Barn' }], ['garage secret']],
  ['another name, same SSID', [garage], [{ ...garage, psk, name: 'barn' }], ['garage secret']],
  [
    'list to object',
    [home, garage],
    { g: { ssid: 'Garage', psk }, h: { ssid: 'Home', psk } },
    ['garage secret', 'home secret'],
  ],
  [
    'object to list',
    { g: garage, 7: home },
    [
      { ssid: 'Home', psk },
      { name: 'g', psk },
    ],
    ['home secret', 'garage secret'],
  ],
  [
    'twins that did not move',
    [home, { ...home, psk: 'other' }],
    [
      { ...home, psk },
      { ...home, psk },
    ],
    ['home secret', 'other'],
  ],
  [
    'copied',
    [home],
    [
      { ...home, psk },
      { ...home, psk, name: 'copy' },
    ],
    ['home secret', 'home secret'],
  ],
];

for (const [what, before, after, psks] of moves)
  test(`a network keeps its own secret: ${what}`, () => {
    const { text, problems } = keepSecrets(networks(after), [networks(before)]);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      Object.values(ofNetworks(text) as object).map((one: { psk: string }) => one.psk),
      psks,
    );
  });

const refused: readonly [what: string, before: string, after: string, path: string, why: RegExp][] = [
  [
    'no saved value',
    networks([{ ssid: 'Home' }]),
    networks([{ ssid: 'Home', psk }]),
    'agent.additional_networks[0].psk',
    /no saved value/,
  ],
  [
    'an empty saved value',
    networks([{ ...home, psk: '' }]),
    networks([{ ...home, psk }]),
    'agent.additional_networks[0].psk',
    /no saved value/,
  ],
  [
    'an unknown network',
    networks([home]),
    networks([{ ssid: 'Cafe', psk }]),
    'agent.additional_networks[0].psk',
    /no saved value/,
  ],
  [
    'another field',
    networks([home]),
    networks([{ ...home, eap_password: psk }]),
    'agent.additional_networks[0].eap_password',
    /no saved value/,
  ],
  [
    'twins that may have moved',
    networks([home, { ...home, psk: 'other' }]),
    networks([{ ...home, psk, priority: 2 }]),
    'agent.additional_networks[0].psk',
    /several/,
  ],
  [
    'name of one, SSID of another',
    networks([home, garage]),
    networks([{ name: 'g', ssid: 'Home', psk }]),
    'agent.additional_networks[0].psk',
    /several/,
  ],
  ['not a secret of the schema', '{}', `{"components":[{"name":${hidden}}]}`, 'components[0].name', /is not a secret/],
  [
    'other text around it',
    networks([home]),
    networks([{ ...home, psk: `${psk}x` }]),
    'agent.additional_networks[0].psk',
    /beside other text/,
  ],
  [
    'an empty machine',
    '{}',
    `{"agent":{"network_configuration":{"hotspot_password":${hidden}}}}`,
    'agent.network_configuration.hotspot_password',
    /no saved value/,
  ],
];

for (const [what, before, after, path, why] of refused)
  test(`a placeholder is refused with its path: ${what}`, () => {
    const { problems } = keepSecrets(after, [before]);
    assert.deepEqual(
      problems.map((one) => [one.path, one.severity]),
      [[path, 'error']],
    );
    assert.match(problems[0]?.message ?? '', why);
  });

test('the first of several texts that has a value counts', () => {
  const old = networks([{ ...home, psk: 'old secret' }]);
  const { text, problems } = keepSecrets(
    networks([
      { ...home, psk },
      { ...garage, psk },
    ]),
    [old, networks([home, garage])],
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(
    (ofNetworks(text) as (typeof home)[]).map((one) => one.psk),
    ['old secret', 'garage secret'],
  );
});

test('a text of a megabyte is read in linear time', () => {
  const env = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`V${index}`, 'x'.repeat(20)]));
  const long = JSON.stringify({
    agent: { advanced_settings: { platform_server_env: env } },
    note: '\\'.repeat(200_000),
  });
  assert.equal(keepSecrets(hideSecrets(long), [long]).text, long);
});
