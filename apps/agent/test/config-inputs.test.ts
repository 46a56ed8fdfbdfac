// Every field of the schema with every kind of bad input, on the way that it takes: saved, sent, resolved, reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary, type JsonObject } from '@bufbuild/protobuf';
import { resolveAgentConfig, type AgentConfig } from '@platform/contract/agent-config';
import { checkConfig } from '@platform/contract/config';
import { fits, type Field } from '@platform/contract/config-field';
import { agentOf, toDeviceStructs } from '@platform/contract/device-structs';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { ConfigReceiver } from '../src/config/config-receiver.ts';
import { deriveConditions, type Condition } from '../src/health/conditions.ts';
import { simDisk } from '../src/os/sim/disk.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { nothingYet, type Wanted } from '../src/state/state.ts';

type Json = Record<string, unknown>;
const defaultsFile = '/etc/platform-defaults.json';

const certificate = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const privateKey = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
const texts = [
  '1.2.3',
  'wlan9',
  'DE',
  'a-text',
  '12345678',
  '10.0.0.1',
  '10.0.0.2/24',
  '02:30',
  certificate,
  privateKey,
];
const badTexts = ['', 'x', 'no such value\u0000', 'ü'.repeat(20_000)];
const wrongTypes = [true, 7.5, 'x', {}, { a: {} }, [], [{}], ['x', 7]];

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value);
const rightType: Record<Field['type'], string> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  string: 'string',
  strings: 'list',
  map: 'object',
};

/** A valid value that is not the default. */
function validFor(field: Field): unknown {
  const candidates: unknown[] = [
    field.max,
    true,
    false,
    ...(field.values ?? []).toReversed(),
    ...texts,
    ...[...(field.values ?? []), ...texts].map((text) => [text]),
    { NAME: 'value' },
  ];
  const found = candidates.find(
    (value) => value !== undefined && fits(field, value) && JSON.stringify(value) !== JSON.stringify(field.default),
  );
  assert.ok(found !== undefined, `no sample is valid for ${JSON.stringify(field)}: add one to texts`);
  return found;
}

/** Values by kind of input; kinds without a value for this field are left out. */
function inputs(field: Field): [kind: string, value: unknown][] {
  const zeros: Record<Field['type'], unknown> = {
    boolean: false,
    integer: 0,
    number: 0,
    string: '',
    strings: [],
    map: {},
  };
  const beyond = [(field.max ?? NaN) + 1, (field.min ?? NaN) - 1, ...badTexts, badTexts, ['']];
  return [
    ['null', null],
    ['zero or empty', zeros[field.type]],
    ['valid', validFor(field)],
    ...beyond
      .filter((value) => !Number.isNaN(value) && typeOf(value) === rightType[field.type] && !fits(field, value))
      .map((value): [string, unknown] => ['out of range', value]),
    ...wrongTypes
      .filter((value) => typeOf(value) !== rightType[field.type] || (typeof value === 'object' && !fits(field, value)))
      .map((value): [string, unknown] => ['wrong type', value]),
  ];
}

/** Valid values all over: none of them may be lost by a bad value elsewhere. */
const witness = {
  version_control: { agent: '1.2.3', 'platform-server': '4.5.6' },
  advanced_settings: { debug: true, platform_server_start_timeout_minutes: 77 },
  network_configuration: { hotspot_prefix: 'barn', user_idle_minutes: 9, manufacturer: 'acme' },
  additional_networks: [{ type: 'wifi', ssid: 'witness', psk: 'abcdefgh', priority: 5 }],
  system_configuration: { logging_journald_system_max_use_megabytes: 99, os_auto_upgrade_type: 'security' },
};

function withField(section: string, key: string, value: unknown): JsonObject {
  const { additional_networks: networks, ...sections }: Record<string, unknown> = structuredClone(witness);
  const agent =
    section === 'additional_networks'
      ? { ...sections, additional_networks: [...(networks as Json[]), { type: 'wifi', ssid: 'other', [key]: value }] }
      : { ...sections, additional_networks: networks, [section]: { ...(sections[section] as Json), [key]: value } };
  return agent as JsonObject;
}

/** As an agent receives it: through the bytes of the answer. */
function received(agent: JsonObject): JsonObject {
  const answer = create(DeviceAgentConfigResponseSchema, { agent, ...toDeviceStructs(agent, 'platform') });
  const again = fromBinary(DeviceAgentConfigResponseSchema, toBinary(DeviceAgentConfigResponseSchema, answer));
  return agentOf({ ...(again.agent && { agent: again.agent }) }) as JsonObject;
}

/** Conditions of an agent with this layer, by code. */
async function conditionsOf(layer: 'cloud' | 'manufacturer', agent: JsonObject): Promise<Condition[]> {
  const wanted = new Cell({ revision: 0 } as Wanted);
  const manufacturer = layer === 'manufacturer' ? agent : {};
  const receiver = new ConfigReceiver({
    disk: simDisk(new SimFiles(), {}),
    wanted,
    layers: { commandLine: {}, manufacturer, manufacturerFile: defaultsFile, isFastStart: false },
    conditions: new Cell<readonly Condition[]>([]),
    log: captureLog(new FakeClock()).log,
  });
  await receiver.accept(
    create(DeviceAgentConfigResponseSchema, { revision: 7n, agent: layer === 'cloud' ? agent : {} }),
    '',
  );
  return deriveConditions(wanted.get(), nothingYet).filter(({ code }) => code === 'CONFIG_CORRECTED');
}

const networkNamed = (config: AgentConfig, ssid: string): Json | undefined =>
  config.additional_networks.find((network) => network.ssid === ssid) as Json | undefined;

/** The configuration without one field, for comparison with the witness. */
function without(config: AgentConfig, section: string, key: string): unknown {
  const copy = structuredClone(config) as unknown as Record<string, Json>;
  if (section === 'additional_networks') copy[section] = { kept: networkNamed(config, 'witness') };
  else delete copy[section]?.[key];
  return copy;
}

const nothing: Condition = { code: '', severity: 'note', message: '', remedy: '' };
const clean = resolveAgentConfig({ cloud: witness }).config;

/** Absent: the default, without a condition. */
async function isDefaultWithout(section: string, key: string, field: Field): Promise<void> {
  const rest = { ...(structuredClone(witness) as unknown as Record<string, Json>)[section] };
  delete rest[key];
  const isList = section === 'additional_networks';
  const agent = (isList ? { ...witness } : { ...witness, [section]: rest }) as unknown as JsonObject;
  const { config, corrections } = resolveAgentConfig({ cloud: received(agent) });
  if (!isList) assert.deepEqual((config as unknown as Record<string, Json>)[section]?.[key], field.default, 'absent');
  assert.deepEqual([corrections, await conditionsOf('cloud', agent)], [[], []], 'absent');
}

for (const [section, fields] of Object.entries(fieldTable)) {
  if (section === 'maintenance_window') continue; // not in the `agent` object: see agent-config.test.ts of the contract
  for (const [key, field] of Object.entries<Field>(fields)) {
    test(`inputs: agent.${section}.${key}`, async () => {
      await isDefaultWithout(section, key, field);
      for (const [kind, value] of inputs(field)) {
        const name = `${kind}: ${JSON.stringify(value)?.slice(0, 60)}`;
        const agent = withField(section, key, value);
        assert.deepEqual(received(agent), agent, `${name}: changed on its way`);
        const { config, corrections } = resolveAgentConfig({ cloud: received(agent) });
        assert.deepEqual(without(config, section, key), without(clean, section, key), `${name}: another field is lost`);
        const isList = section === 'additional_networks';
        const used = isList
          ? networkNamed(config, key === 'ssid' ? String(value) : 'other')?.[key]
          : (config as unknown as Record<string, Json>)[section]?.[key];
        if (used !== undefined) assert.ok(fits(field, used), `${name}: ${JSON.stringify(used)} is used`);
        const isUnset = value === null && field.isNullable !== true;
        if (isUnset || fits(field, value)) {
          if (isList) continue; // rules across the fields of a network: network-fields.test.ts
          assert.deepEqual(corrections, [], name);
          const isDefault = isUnset || (kind === 'zero or empty' && key.startsWith('logging_journald'));
          assert.deepEqual(used, isDefault ? field.default : value, name);
          continue;
        }
        const path = `agent.${section}${isList ? '[1]' : ''}.${key}`;
        assert.deepEqual(
          corrections.map((one) => [one.path, one.layer]),
          [[path, 'cloud']],
          name,
        );
        const problems = checkConfig({ agent }).filter(({ severity }) => severity === 'error');
        assert.ok(
          problems.some((problem) => problem.path === path),
          `${name}: saving names it`,
        );
        const [cloud = nothing, ...more] = await conditionsOf('cloud', agent);
        assert.ok(cloud.message.startsWith(`${path} in revision 7: must be `), `${name}: ${cloud.message}`);
        assert.deepEqual([cloud.path, more.length], [path, 0], name);
        const [local = nothing] = await conditionsOf('manufacturer', agent);
        assert.ok(local.message.startsWith(`${path} in ${defaultsFile}: must be `), `${name}: ${local.message}`);
        if (field.isSecret && typeof value === 'string' && value.length > 3)
          assert.ok(!cloud.message.includes(value) && !local.message.includes(value), `${name}: a secret is shown`);
      }
    });
  }

  test(`inputs: an unknown key in agent.${section} has no effect, is kept and reported`, () => {
    for (const value of [null, 0, 'x', { deep: [1, { er: true }] }]) {
      const agent = withField(section, 'later', value);
      assert.deepEqual(received(agent), agent);
      const { config, corrections } = resolveAgentConfig({ cloud: received(agent) });
      assert.deepEqual(corrections, []);
      assert.deepEqual(without(config, section, 'later'), without(clean, section, 'later'));
      const path = `agent.${section}${section === 'additional_networks' ? '[1]' : ''}.later`;
      assert.deepEqual(
        checkConfig({ agent }).map((problem) => [problem.path, problem.severity]),
        [[path, 'note']],
      );
    }
  });

  test(`inputs: agent.${section} of a wrong type discards nothing else`, async () => {
    for (const value of [7, 'x', true, section === 'additional_networks' ? 'list' : []]) {
      const agent = { ...witness, [section]: value } as unknown as JsonObject;
      const { config, corrections } = resolveAgentConfig({ cloud: received(agent) });
      assert.deepEqual(
        corrections.map(({ path }) => path),
        [`agent.${section}`],
      );
      assert.deepEqual({ ...config, [section]: 0 }, { ...clean, [section]: 0 });
      const [condition] = await conditionsOf('cloud', agent);
      assert.match(condition?.message ?? '', new RegExp(`^agent\\.${section} in revision 7: must be `));
    }
  });
}
