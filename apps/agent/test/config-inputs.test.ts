// Every field of the schema with every kind of bad input, on the way that it takes: saved, sent, resolved, reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary, type JsonObject } from '@bufbuild/protobuf';
import { resolveAgentConfig, type AgentConfig } from '@platform/contract/config/agent-config';
import { checkConfig } from '@platform/contract/config/config';
import { fits, type Field } from '@platform/contract/config/field-row';
import { agentOf, toDeviceStructs } from '@platform/contract/config/device-structs';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { Condition } from '../src/health/conditions.ts';
import { correctionConditions, defaultsFile, inputs } from './config-inputs.ts';

type Json = Record<string, unknown>;
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

const conditionsOf = (layer: 'cloud' | 'manufacturer', agent: JsonObject): Promise<Condition[]> =>
  correctionConditions(layer === 'cloud' ? { agent } : {}, layer === 'manufacturer' ? agent : {});

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
  if (section === 'maintenance_window') continue; // not in the `agent` object: config-inputs-windows.test.ts
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

test('inputs: an unknown key in agent has no effect, is kept and reported', () => {
  for (const value of [null, 0, 'x', { deep: [1, { er: true }] }]) {
    const agent = { ...witness, later: value } as unknown as JsonObject;
    assert.deepEqual(received(agent), agent);
    assert.deepEqual(resolveAgentConfig({ cloud: received(agent) }), resolveAgentConfig({ cloud: witness }));
    assert.deepEqual(
      checkConfig({ agent }).map(({ path, severity }) => [path, severity]),
      [['agent.later', 'note']],
    );
  }
});

test('inputs: a section that is null is unset, and another layer counts', () => {
  for (const section of Object.keys(witness)) {
    const agent = { ...witness, [section]: null } as unknown as JsonObject;
    assert.deepEqual(received(agent), agent);
    const { config, corrections } = resolveAgentConfig({ cloud: received(agent), manufacturer: witness });
    assert.deepEqual([config, corrections], [clean, []], section);
  }
});

test('inputs: an entry of additional_networks of a wrong type is left out and named, the others stay', async () => {
  for (const entry of [7, 'x', true, []]) {
    const agent = { ...witness, additional_networks: [entry, ...witness.additional_networks] } as unknown as JsonObject;
    const { config } = resolveAgentConfig({ cloud: received(agent) });
    assert.deepEqual(config, clean);
    const [condition] = await conditionsOf('cloud', agent);
    assert.match(condition?.message ?? '', /^agent\.additional_networks\[0\] in revision 7: must be an object/);
    assert.ok(checkConfig({ agent }).some(({ path, severity }) => path.endsWith('[0]') && severity === 'error'));
  }
});
