import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  type AgentLayers,
  defaultAgentConfig,
  limitsOf,
  resolveAgentConfig,
} from '@platform/contract/config/agent-config';
import { checkConfig } from '@platform/contract/config/config';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';

/** What differs from the defaults, as "section.key=value", and the corrections as "layer: path -> used". */
function resolved(layers: AgentLayers): { set: string[]; corrected: string[] } {
  const { config, corrections } = resolveAgentConfig(layers);
  const defaults = defaultAgentConfig();
  const set: string[] = [];
  for (const [section, value] of Object.entries(config)) {
    if (section === 'additional_networks' || section === 'maintenance_window')
      set.push(...(Array.isArray(value) ? value : [value]).map((item) => `${section}: ${JSON.stringify(item)}`));
    else
      for (const [key, item] of Object.entries(value))
        if (
          JSON.stringify(item) !==
          JSON.stringify((defaults[section as 'version_control'] as unknown as Record<string, unknown>)[key])
        )
          set.push(`${section}.${key}=${JSON.stringify(item)}`);
  }
  return {
    set: set.filter((line) => line !== 'additional_networks: []'),
    corrected: corrections.map(({ layer, path, used }) => `${layer}: ${path} -> ${used}`),
  };
}

const network = (fields: object): object => ({ network_configuration: fields });

const cases: [name: string, layers: AgentLayers, set: string[], corrected: string[]][] = [
  ['nothing at all: the defaults', {}, [], []],
  [
    'cloud over manufacturer',
    { cloud: network({ model: 'c' }), manufacturer: network({ model: 'm', manufacturer: 'acme' }) },
    ['network_configuration.manufacturer="acme"', 'network_configuration.model="c"'],
    [],
  ],
  [
    'command line over cloud',
    { commandLine: { advanced_settings: { debug: true } }, cloud: { advanced_settings: { debug: false } } },
    ['advanced_settings.debug=true'],
    [],
  ],
  [
    'a set false, 0 and "" win over a weaker layer',
    {
      cloud: { advanced_settings: { debug: false }, ...network({ device_reboot_after_offline_minutes: 0, model: '' }) },
      manufacturer: {
        advanced_settings: { debug: true },
        ...network({ device_reboot_after_offline_minutes: 60, model: 'm' }),
      },
    },
    ['network_configuration.model=""'],
    [],
  ],
  [
    'null counts as not set',
    { cloud: network({ user_idle_minutes: null }), manufacturer: network({ user_idle_minutes: 7 }) },
    ['network_configuration.user_idle_minutes=7'],
    [],
  ],
  [
    'null is a value of wifi_power_save',
    { cloud: network({ wifi_power_save: null }), manufacturer: network({ wifi_power_save: true }) },
    [],
    [],
  ],
  [
    'a bad value: the next layer',
    { cloud: network({ user_idle_minutes: 0 }), manufacturer: network({ user_idle_minutes: 7 }) },
    ['network_configuration.user_idle_minutes=7'],
    ['cloud: agent.network_configuration.user_idle_minutes -> 7'],
  ],
  [
    'two bad values: the default',
    { cloud: network({ user_idle_minutes: 'x' }), manufacturer: network({ user_idle_minutes: -1 }) },
    [],
    [
      'cloud: agent.network_configuration.user_idle_minutes -> 5',
      'manufacturer: agent.network_configuration.user_idle_minutes -> 5',
    ],
  ],
  [
    'a number beyond its maximum, and no other valid value: the maximum',
    { cloud: network({ user_idle_minutes: 20_000 }), manufacturer: network({ user_idle_minutes: 'x' }) },
    ['network_configuration.user_idle_minutes=10080'],
    [
      'cloud: agent.network_configuration.user_idle_minutes -> 10080',
      'manufacturer: agent.network_configuration.user_idle_minutes -> 10080',
    ],
  ],
  [
    'a bad section does not spoil the others',
    { cloud: { advanced_settings: 'on', network_configuration: { model: 'c' } } },
    ['network_configuration.model="c"'],
    ['cloud: agent.advanced_settings -> the next layer'],
  ],
  [
    'a layer that is not an object',
    { cloud: 'x', manufacturer: network({ model: 'm' }) },
    ['network_configuration.model="m"'],
    ['cloud: agent -> the next layer'],
  ],
  [
    'the public spelling, minutes as a duration',
    { cloud: { advanced_settings: { disable_viam_server: true, viam_server_start_timeout_minutes: '1h5m0s' } } },
    ['advanced_settings.disable_platform_server=true', 'advanced_settings.platform_server_start_timeout_minutes=65'],
    [],
  ],
  [
    'a bad value under the public spelling',
    { cloud: { advanced_settings: { viam_server_start_timeout_minutes: '10 minutes' } } },
    [],
    ['cloud: agent.advanced_settings.viam_server_start_timeout_minutes -> 10'],
  ],
  ['unknown keys change nothing', { cloud: { advanced_settings: { new: 1 }, new_section: {} } }, [], []],
  [
    'a reboot that would come too early',
    { cloud: network({ device_reboot_after_offline_minutes: 6 }) },
    ['network_configuration.device_reboot_after_offline_minutes=7'],
    ['cloud: agent.network_configuration.device_reboot_after_offline_minutes -> 7'],
  ],
  [
    'a reboot before a late hotspot',
    {
      cloud: network({ device_reboot_after_offline_minutes: 1 }),
      manufacturer: network({ offline_before_starting_hotspot_minutes: 30, user_idle_minutes: 6 }),
    },
    [
      'network_configuration.device_reboot_after_offline_minutes=36',
      'network_configuration.offline_before_starting_hotspot_minutes=30',
      'network_configuration.user_idle_minutes=6',
    ],
    ['cloud: agent.network_configuration.device_reboot_after_offline_minutes -> 36'],
  ],
  [
    'a reboot just late enough',
    { cloud: network({ device_reboot_after_offline_minutes: 7 }) },
    ['network_configuration.device_reboot_after_offline_minutes=7'],
    [],
  ],
  [
    'journald limit 0',
    {
      cloud: {
        system_configuration: {
          logging_journald_system_max_use_megabytes: 0,
          logging_journald_runtime_max_use_megabytes: -1,
        },
      },
    },
    ['system_configuration.logging_journald_runtime_max_use_megabytes=-1'],
    [],
  ],
  [
    'a secret is never shown',
    { cloud: network({ hotspot_password: 'short' }), manufacturer: network({ hotspot_password: 'longenough' }) },
    ['network_configuration.hotspot_password="longenough"'],
    ['cloud: agent.network_configuration.hotspot_password -> another value'],
  ],
];
for (const [name, layers, set, corrected] of cases)
  test(`resolve: ${name}`, () => assert.deepEqual(resolved(layers), { set, corrected }));

test('networks come whole from the strongest layer; one that cannot work is left out, other bad fields take the nearest valid value', () => {
  const { config, corrections } = resolveAgentConfig({
    cloud: {
      additional_networks: {
        office: { type: 'wifi', ssid: 'Office', psk: '12345678', priority: 5000 },
        nameless: { type: 'wifi' },
        odd: { type: 'bluetooth' },
        weak: { type: 'wifi', ssid: 'w', psk: '123' },
      },
    },
    manufacturer: { additional_networks: [{ type: 'wired' }] },
  });
  assert.deepEqual(
    config.additional_networks.map(({ name, ssid, priority }) => ({ name, ssid, priority })),
    [{ name: 'office', ssid: 'Office', priority: 999 }],
  );
  assert.deepEqual(
    corrections.map(({ path, used }) => `${path} -> ${used}`),
    [
      'agent.additional_networks.office.priority -> 999',
      'agent.additional_networks.nameless.ssid -> nothing: the network is left out',
      'agent.additional_networks.odd.type -> nothing: the network is left out',
      'agent.additional_networks.weak.psk -> nothing: the network is left out',
    ],
  );
});

test('networks without a name get one that is unique', () => {
  const { config } = resolveAgentConfig({
    cloud: {
      additional_networks: [
        { type: 'wifi', ssid: 'a' },
        { type: 'wifi', ssid: 'a', interface: 'wlan1' },
        { type: 'wired', interface: 'eth0' },
        { type: 'wired' },
        { type: 'wired', name: 'wired' },
      ],
    },
  });
  assert.deepEqual(
    config.additional_networks.map(({ name }) => name),
    ['a', 'a-2', 'wired-eth0', 'wired', 'wired-2'],
  );
});

const windows: [name: string, window: unknown, from: string | undefined, corrected: string[]][] = [
  ['complete', { from: '01:00', to: '02:00', days: ['mon'], time_zone: 'Asia/Tokyo' }, '01:00', []],
  ['bad days', { from: '01:00', to: '02:00', days: ['monday'] }, '01:00', ['maintenance_window.days']],
  ['bad time', { from: '1', to: '02:00' }, undefined, ['maintenance_window.from']],
  ['half of it', { from: '01:00' }, undefined, ['maintenance_window.to']],
  ['unknown zone', { from: '01:00', to: '02:00', time_zone: 'X' }, undefined, ['maintenance_window.time_zone']],
  ['no object', 7, undefined, ['maintenance_window']],
  ['null', null, undefined, []],
  ['a duration', { from: '01:00', duration_minutes: 90 }, '01:00', []],
  [
    'a duration that is too long',
    { from: '01:00', duration_minutes: 90_000 },
    '01:00',
    ['maintenance_window.duration_minutes'],
  ],
  ['a duration of nothing', { from: '01:00', duration_minutes: 0 }, undefined, ['maintenance_window.duration_minutes']],
  [
    'a duration and an end',
    { from: '01:00', to: '02:00', duration_minutes: 9 },
    undefined,
    ['maintenance_window.duration_minutes'],
  ],
  ['the zone of the machine', { from: '01:00', to: '02:00', time_zone: 'device' }, '01:00', []],
  ['an empty list', [], undefined, []],
  [
    'a list: an unusable window is left out, the others stay',
    [7, { from: '1' }, { from: '03:00', duration_minutes: 5 }, { from: '04:00', to: '05:00', days: 7 }],
    '03:00',
    ['maintenance_window[0]', 'maintenance_window[1].from', 'maintenance_window[3].days'],
  ],
];
for (const [name, maintenanceWindow, from, corrected] of windows) {
  test(`maintenance window: ${name}`, () => {
    const { config, corrections } = resolveAgentConfig({ maintenanceWindow });
    assert.deepEqual([config.maintenance_window[0]?.from, corrections.map(({ path }) => path)], [from, corrected]);
  });
}

test('times come in milliseconds, never is Infinity', () => {
  assert.deepEqual(limitsOf(defaultAgentConfig()), {
    serverStartMs: 600_000,
    offlineBeforeHotspotMs: 120_000,
    retryConnectionMs: 600_000,
    userIdleMs: 300_000,
    rebootAfterOfflineMs: Infinity,
  });
  const { config } = resolveAgentConfig({ cloud: network({ device_reboot_after_offline_minutes: 30 }) });
  assert.equal(limitsOf(config).rebootAfterOfflineMs, 1_800_000);
});

test('whatever arrives, the result passes the check of the server, and a configuration without errors needs no correction', () => {
  const keys = Object.values(fieldTable).flatMap((section) => Object.keys(section));
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom(0, 1, 5, 60, true, 'wifi', 'wired', 'stable', 'home', '12345678', '10.0.0.1', '10.0.0.2/24'),
  );
  const section = fc.oneof(
    { weight: 9, arbitrary: fc.dictionary(fc.constantFrom(...keys), value) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  );
  const layer = fc.dictionary(
    fc.constantFrom(...Object.keys(fieldTable).filter((name) => name !== 'maintenance_window')),
    fc.oneof(section, fc.array(section, { maxLength: 3 })),
  );
  let clean = 0;
  fc.assert(
    fc.property(layer, fc.option(layer), (cloud, manufacturer) => {
      const { config, corrections } = resolveAgentConfig({ cloud, manufacturer });
      const problems = checkConfig({ agent: config });
      assert.deepEqual(
        problems.filter(({ severity }) => severity === 'error'),
        [],
      );
      if (manufacturer === null && !checkConfig({ agent: cloud }).some(({ severity }) => severity === 'error')) {
        clean += 1;
        assert.deepEqual(corrections, []);
      }
    }),
    { seed: 17, numRuns: 3000 },
  );
  assert.ok(clean > 20, `only ${clean} configurations without errors`);
});
