import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import configSchema from '@platform/contract/gen/config.schema.json' with { type: 'json' };
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { readConfigText, setValue } from '../config-edit.ts';
import {
  addEntry,
  defaultOf,
  effectAt,
  entriesAt,
  fieldsAt,
  fieldsOfValue,
  helpAt,
  literalOf,
  problemsAt,
  stateOf,
  titleAt,
} from './form-rows.ts';
import type { FormField } from './form-rows.ts';
import type { ConfigProblem } from '../config-problems.ts';
import type { JsonSchema } from '../schema/config-schema.ts';

const schema = configSchema as JsonSchema;
const networks = ['agent', 'additional_networks'];
const { additional_networks: entryFields, maintenance_window: _, ...sections } = fieldTable;
const groups: [path: (string | number)[], fields: object][] = [
  ...Object.entries(sections).map(([key, fields]): [string[], object] => [['agent', key], fields]),
  [[...networks, 0], entryFields],
];

test('every field of the agent has a title, help, since when it acts, and something to edit it with', () => {
  for (const [path, expected] of groups) {
    const all = fieldsAt(schema, path);
    assert.deepEqual(
      all.map(({ key }) => key),
      Object.keys(expected),
    );
    for (const one of all) {
      assert.notEqual(one.title, one.key);
      assert.match(one.description, /\.$/, one.key);
      assert.match(one.effect ?? '', /since|no effect/, one.key);
      assert.notEqual(one.kind, 'other', one.key);
    }
    const titles = all.map(({ title }) => title);
    assert.equal(new Set(titles).size, titles.length, 'titles of one group differ');
    assert.notEqual(helpAt(schema, path), '');
  }
});

const field = (path: (string | number)[], key: string): FormField => {
  const found = fieldsAt(schema, path).find((one) => one.key === key);
  assert.ok(found, key);
  return found;
};
const inNetwork = (key: string) => field(['agent', 'network_configuration'], key);
const inAdvanced = (key: string) => field(['agent', 'advanced_settings'], key);
const ofEntry = (key: string) => field([...networks, 0], key);

test('a field says what it is edited with, its default, unit and limits', () => {
  const table: [FormField, kind: string, fallback: string | undefined, unit?: string | undefined, limits?: string][] = [
    [inAdvanced('debug'), 'switch', 'off'],
    [inAdvanced('platform_server_start_timeout_minutes'), 'number', '10', 'min', '1 … 10080'],
    [inAdvanced('platform_server_env'), 'map', 'empty'],
    [inNetwork('device_reboot_after_offline_minutes'), 'number', '0 (disabled)', 'min', '0 … 43200'],
    [inNetwork('hotspot_password'), 'text', 'platformsetup', undefined, '8 to 63 ASCII characters'],
    [inNetwork('hotspot_band'), 'choice', '2.4, which every phone has'],
    [ofEntry('type'), 'choice', undefined],
    [ofEntry('ipv4_dns'), 'texts', 'empty'],
    [ofEntry('priority'), 'number', '0', undefined, '-999 … 999'],
    [
      ofEntry('ipv4_address'),
      'text',
      'auto',
      undefined,
      '"auto" or an address with its prefix length, such as 192.168.1.20/24',
    ],
  ];
  for (const [one, kind, fallback, unit, limits] of table) {
    assert.deepEqual([one.kind, defaultOf(one), one.unit], [kind, fallback, unit], one.key);
    if (limits !== undefined) assert.equal(one.limits, limits);
  }
  assert.deepEqual([ofEntry('eap_client_key').kind, ofEntry('eap_client_key').isSecret], ['long text', true]);
  assert.deepEqual([inNetwork('wifi_power_save').kind, inNetwork('wifi_power_save').isNullable], ['switch', true]);
  assert.equal(titleAt(schema, ['agent', 'network_configuration']), 'Network and hotspot');
  assert.equal(titleAt(schema, networks), 'Additional networks');
  assert.equal(effectAt(schema, ['agent', 'network_configuration']), 'since 0.1.0, linux only');
  assert.equal(effectAt(schema, ['agent', 'advanced_settings']), undefined);
});

test('unset is not the default, and the form names what it cannot edit', () => {
  const config = readConfigText(`{
    "agent": {
      "advanced_settings": { "disable_viam_server": false, "platform_server_start_timeout_minutes": 1.0e1, "debug": "yes" },
      "network_configuration": { "wifi_power_save": null, "user_idle_minutes": "x" }
    }
  }`);
  const of = (one: FormField, group: string) => {
    const { path, isSet, text, isForeign } = stateOf(config, ['agent', group], one);
    return [path.at(-1), isSet, text, isForeign];
  };
  const table: [FormField, group: string, state: unknown[]][] = [
    [inAdvanced('wait_for_update_check'), 'advanced_settings', ['wait_for_update_check', false, '', false]],
    [inAdvanced('disable_platform_server'), 'advanced_settings', ['disable_viam_server', true, 'false', false]],
    [
      inAdvanced('platform_server_start_timeout_minutes'),
      'advanced_settings',
      ['platform_server_start_timeout_minutes', true, '1.0e1', false],
    ],
    [inAdvanced('debug'), 'advanced_settings', ['debug', true, 'yes', true]],
    [inNetwork('wifi_power_save'), 'network_configuration', ['wifi_power_save', true, 'null', false]],
    [inNetwork('user_idle_minutes'), 'network_configuration', ['user_idle_minutes', true, 'x', false]],
  ];
  for (const [one, group, state] of table) assert.deepEqual(of(one, group), state, one.key);
});

test('what is typed becomes JSON as typed', () => {
  const table: [kind: Parameters<typeof literalOf>[0], typed: string, literal: string][] = [
    ['number', '12', '12'],
    ['number', ' 1.50 ', '1.50'],
    ['number', '-', '"-"'],
    ['number', '', '""'],
    ['number', '007', '"007"'],
    ['text', '12', '"12"'],
    ['text', 'a "b"', '"a \\"b\\""'],
  ];
  for (const [kind, typed, literal] of table) assert.equal(literalOf(kind, typed), literal);
});

test('networks are a list, or an object by name', () => {
  const table: [text: string, entries: unknown, after: string][] = [
    ['{}', [], '{\n  "agent": {\n    "additional_networks": [\n      1\n    ]\n  }\n}'],
    [
      '{ "agent": { "additional_networks": [{}] } }',
      [[...networks, 0]],
      '{ "agent": { "additional_networks": [{}, 1] } }',
    ],
    [
      '{ "agent": { "additional_networks": { "network-2": {} } } }',
      [[...networks, 'network-2']],
      '{ "agent": { "additional_networks": { "network-2": {}, "network-3": 1 } } }',
    ],
    ['{ "agent": { "additional_networks": 7 } }', undefined, '{ "agent": { "additional_networks": [ 1 ] } }'],
  ];
  for (const [text, entries, after] of table) {
    const config = readConfigText(text);
    assert.deepEqual(entriesAt(config, networks), entries);
    assert.equal(addEntry(config, networks, '1'), after);
  }
});

test('a problem belongs to its field, and to the fields around it', () => {
  const problem = (...path: (string | number)[]) => ({ path }) as unknown as ConfigProblem;
  const all = [problem('a', 'b', 0), problem('a', 'bc'), problem('a'), problem()];
  assert.deepEqual(problemsAt(all, ['a', 'b']), [all[0]]);
  assert.deepEqual(problemsAt(all, ['a']), all.slice(0, 3));
});

test('values that no schema describes are edited by their type', () => {
  const fields = fieldsOfValue({ url: 'x', every_seconds: 1, on: true, tags: [], more: {}, none: null, password: 'p' });
  assert.deepEqual(
    fields.map(({ key, kind, isSecret }) => [key, kind, isSecret]),
    [
      ['url', 'text', false],
      ['every_seconds', 'number', false],
      ['on', 'switch', false],
      ['password', 'text', true],
    ],
  );
  assert.deepEqual(fieldsOfValue(7), []);
});

const certificate = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';

/** What is typed into a field for which no other value of its type fits. */
const typedTexts: Readonly<Record<string, string>> = {
  agent: '1.4.0',
  'platform-server': 'dev',
  hotspot_password: 'a long password',
  hotspot_ssid: 'yard',
  wifi_country: 'AT',
  psk: 'a long passkey',
  ipv4_address: '10.20.4.13/24',
  ipv4_gateway: '10.20.4.1',
  eap_ca_certificate: certificate,
  eap_client_certificate: certificate,
  eap_client_key: key,
};

/** The JSON that the input of a field writes for a value that is not the default. */
function literalFor(one: FormField): string {
  const start: unknown = one.start === undefined ? undefined : JSON.parse(one.start);
  switch (one.kind) {
    case 'switch':
      return String(start !== true);
    case 'number':
      return literalOf('number', String(Number(start) === 90 ? 91 : 90));
    case 'choice':
      return JSON.stringify(one.values.find((value) => value !== start && value !== ''));
    case 'texts':
      return '["10.20.4.1"]';
    case 'map':
      return '{"NAME":"value"}';
    default:
      return literalOf(one.kind, typedTexts[one.key] ?? 'abc');
  }
}

const login = { eap_method: 'peap', eap_identity: 'i', eap_password: 'p', eap_ca_certificate: certificate };
const byCertificate = { ...login, eap_method: 'tls', eap_client_certificate: certificate, eap_client_key: key };

/** A network with WPA2-enterprise is left out unless it is complete. */
function networkFor({ key: name }: FormField): object {
  const network = { type: 'wifi', ssid: 'barn' };
  if (!name.startsWith('eap_')) return network;
  return { ...network, ...(name.startsWith('eap_client') ? byCertificate : login) };
}

test('every field of the five groups, set by the form, is in the configuration that the agent resolves', () => {
  let count = 0;
  for (const [path] of groups) {
    const ofNetwork = path.includes('additional_networks');
    for (const one of fieldsAt(schema, path)) {
      const { [one.key]: _unset, ...network } = networkFor(one) as Record<string, unknown>;
      const before = JSON.stringify(ofNetwork ? { agent: { additional_networks: [network] } } : {});
      const literal = literalFor(one);
      const text = setValue(before, stateOf(readConfigText(before), path, one).path, literal);
      const { config, corrections } = resolveAgentConfig({ cloud: (JSON.parse(text) as { agent: unknown }).agent });
      const of = ofNetwork ? config.additional_networks[0] : config[path[1] as 'advanced_settings'];
      assert.deepEqual(
        Reflect.get(of ?? {}, one.key),
        JSON.parse(literal),
        `${path.join('.')}.${one.key}: ${JSON.stringify(corrections)}`,
      );
      assert.notEqual(literal, one.start);
      count++;
    }
  }
  assert.equal(
    count,
    groups.reduce((sum, [, fields]) => sum + Object.keys(fields).length, 0),
  );
});
