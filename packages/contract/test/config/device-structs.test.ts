import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary, type JsonObject } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { checkConfig } from '@platform/contract/config/config';
import { agentOf, toDeviceStructs } from '@platform/contract/config/device-structs';
import {
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';

const agent = {
  version_control: { agent: 'stable' },
  advanced_settings: {
    disable_platform_server: true,
    platform_server_start_timeout_minutes: 3,
    debug: false,
    later: { a: 1 },
  },
  network_configuration: { model: 'cam', wifi_power_save: null, user_idle_minutes: null },
  additional_networks: [
    { type: 'wifi', ssid: 'home', psk: '12345678', ipv4_address: 'auto' },
    { type: 'wifi', ssid: 'home', priority: 3 },
    { type: 'wired', interface: 'eth0', ipv4_address: '10.0.0.2/24' },
  ],
  system_configuration: { os_auto_upgrade_type: 'all' },
};

test('renamed keys go out under both names, networks by name, "auto" and empty values not at all', () => {
  assert.deepEqual(toDeviceStructs(agent, 'platform'), {
    advancedSettings: {
      disable_platform_server: true,
      disable_viam_server: true,
      platform_server_start_timeout_minutes: 3,
      viam_server_start_timeout_minutes: 3,
      debug: false,
      later: { a: 1 },
    },
    networkConfiguration: { model: 'cam', wifi_power_save: null },
    additionalNetworks: {
      home: { type: 'wifi', ssid: 'home', psk: '12345678' },
      'home-2': { type: 'wifi', ssid: 'home', priority: 3 },
      'wired-eth0': { type: 'wired', interface: 'eth0', ipv4_address: '10.0.0.2/24' },
    },
    systemConfiguration: { os_auto_upgrade_type: 'all' },
  });
});

test('the reference agent gets no value of a wrong type: one would make it ignore the whole answer', () => {
  const broken = {
    advanced_settings: { debug: 'yes', wait_for_update_check: true },
    network_configuration: { user_idle_minutes: '5' },
    additional_networks: [{ type: 'bluetooth' }, { type: 'wifi', ssid: 'x', priority: 'high' }],
  };
  assert.deepEqual(toDeviceStructs(broken, 'reference'), {
    advancedSettings: { wait_for_update_check: true },
    networkConfiguration: {},
    additionalNetworks: { x: { type: 'wifi', ssid: 'x' } },
    systemConfiguration: {},
  });
});

for (const nothing of [undefined, null, {}, 7, { advanced_settings: 7, additional_networks: 'x' }]) {
  test(`empty sections for ${JSON.stringify(nothing)}`, () => {
    assert.deepEqual(toDeviceStructs(nothing, 'platform'), {
      advancedSettings: {},
      networkConfiguration: {},
      additionalNetworks: {},
      systemConfiguration: {},
    });
  });
}

const overTheWire = (fields: JsonObject | undefined, structs: ReturnType<typeof toDeviceStructs>) =>
  fromBinary(
    DeviceAgentConfigResponseSchema,
    toBinary(
      DeviceAgentConfigResponseSchema,
      create(DeviceAgentConfigResponseSchema, { ...(fields ? { agent: fields } : {}), ...structs }),
    ),
  );

test('the saved object survives the wire, unknown keys too', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (given) => {
      const sent: JsonObject = JSON.parse(JSON.stringify(given));
      const answer = overTheWire(sent, toDeviceStructs(sent, 'platform'));
      assert.deepEqual(answer.agent, sent);
    }),
    { seed: 19 },
  );
});

test('a device that gets only the sections resolves the same configuration as from the object itself', () => {
  const value = fc.constantFrom(1, 5, 60, true, 'home', '12345678');
  const keys = [
    'debug',
    'disable_platform_server',
    'platform_server_start_timeout_minutes',
    'wait_for_update_check',
    'model',
    'hotspot_password',
    'user_idle_minutes',
    'os_auto_upgrade_type',
    'logging_journald_system_max_use_megabytes',
  ];
  const section = fc.dictionary(fc.constantFrom(...keys), value);
  const networks = fc.array(
    fc.record({
      type: fc.constant('wifi'),
      ssid: fc.constantFrom('a', 'b'),
      priority: fc.integer({ min: -999, max: 999 }),
    }),
    { maxLength: 3 },
  );
  const config = fc.record({
    advanced_settings: section,
    network_configuration: section,
    additional_networks: networks,
    system_configuration: section,
  });
  let compared = 0;
  fc.assert(
    fc.property(config, (given) => {
      if (checkConfig({ agent: given }).some(({ severity }) => severity === 'error')) return;
      compared += 1;
      const answer = overTheWire(undefined, toDeviceStructs(given, 'reference'));
      assert.deepEqual(
        resolveAgentConfig({ cloud: agentOf(answer) }).config,
        resolveAgentConfig({ cloud: given }).config,
      );
    }),
    { seed: 23, numRuns: 1000 },
  );
  assert.ok(compared > 30, `only ${compared} compared`);
});

test('our fields stay out of the way of the public ones', () => {
  for (const schema of [DeviceAgentConfigRequestSchema, DeviceAgentConfigResponseSchema]) {
    const ours = schema.fields.filter(({ number }) => number >= 1000).map(({ name }) => name);
    assert.ok(ours.length >= 3, schema.name);
  }
});
