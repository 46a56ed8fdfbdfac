// What the check of a whole configuration finds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { checkConfig, type Severity } from '@platform/contract/config/config';
import { readAgent } from '@platform/contract/config/reading';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { schemaCheck } from '../schema-check.ts';

const wifi = { type: 'wifi', ssid: 'home', psk: '12345678' };
const cases: [name: string, config: unknown, found: [path: string, severity: Severity][]][] = [
  ['nothing set', {}, []],
  ['no object', [], [['', 'error']]],
  ['agent is not an object', { agent: 5 }, [['agent', 'error']]],
  ['a section is not an object', { agent: { advanced_settings: true } }, [['agent.advanced_settings', 'error']]],
  [
    'every value of the specification',
    {
      agent: {
        version_control: { agent: 'stable', 'platform-server': '1.4.0' },
        additional_networks: [wifi],
        network_configuration: { wifi_power_save: null },
      },
    },
    [],
  ],
  [
    'two errors at once',
    { agent: { advanced_settings: { debug: 1, platform_server_start_timeout_minutes: 0 } } },
    [
      ['agent.advanced_settings.debug', 'error'],
      ['agent.advanced_settings.platform_server_start_timeout_minutes', 'error'],
    ],
  ],
  [
    'a text for a number',
    { agent: { network_configuration: { user_idle_minutes: '5' } } },
    [['agent.network_configuration.user_idle_minutes', 'error']],
  ],
  [
    'null where it means nothing',
    { agent: { network_configuration: { user_idle_minutes: null } } },
    [['agent.network_configuration.user_idle_minutes', 'error']],
  ],
  [
    'priority at its limits',
    {
      agent: {
        additional_networks: [
          { ...wifi, priority: 999 },
          { type: 'wired', priority: -999 },
        ],
      },
    },
    [],
  ],
  [
    'priority beyond',
    {
      agent: {
        additional_networks: [
          { ...wifi, priority: 1000 },
          { type: 'wired', priority: -1000 },
        ],
      },
    },
    [
      ['agent.additional_networks[0].priority', 'error'],
      ['agent.additional_networks[1].priority', 'error'],
    ],
  ],
  [
    'psk of 7, 8, 63, 64 characters',
    {
      agent: {
        additional_networks: {
          a: { ...wifi, ssid: 'a', psk: '1234567' },
          b: { ...wifi, ssid: 'b' },
          c: { ...wifi, ssid: 'c', psk: 'x'.repeat(63) },
          d: { ...wifi, ssid: 'd', psk: 'x'.repeat(64) },
          e: { ...wifi, ssid: 'e', psk: 'f'.repeat(64) },
        },
      },
    },
    [
      ['agent.additional_networks.a.psk', 'error'],
      ['agent.additional_networks.d.psk', 'error'],
    ],
  ],
  [
    'wifi without its name',
    { agent: { additional_networks: [{ type: 'wifi' }] } },
    [['agent.additional_networks[0].ssid', 'error']],
  ],
  [
    'network without a type',
    { agent: { additional_networks: [{ ssid: 'x' }] } },
    [['agent.additional_networks[0].type', 'error']],
  ],
  [
    'network that is not an object',
    { agent: { additional_networks: [7, { type: 'wifi' }] } },
    [
      ['agent.additional_networks[0]', 'error'],
      ['agent.additional_networks[1].ssid', 'error'],
    ],
  ],
  [
    'networks that are not a list',
    { agent: { additional_networks: 'home' } },
    [['agent.additional_networks', 'error']],
  ],
  [
    'a password on a wire',
    { agent: { additional_networks: [{ type: 'wired', psk: '12345678' }] } },
    [['agent.additional_networks[0].psk', 'warning']],
  ],
  [
    'a gateway without an address',
    { agent: { additional_networks: [{ type: 'wired', ipv4_gateway: '10.0.0.1' }] } },
    [['agent.additional_networks[0].ipv4_gateway', 'warning']],
  ],
  [
    'a fixed address',
    {
      agent: {
        additional_networks: [
          { type: 'wired', ipv4_address: '10.0.0.2/24', ipv4_gateway: '10.0.0.1', ipv4_dns: ['1.1.1.1'] },
        ],
      },
    },
    [],
  ],
  [
    'the same fixed address on two interfaces',
    {
      agent: {
        additional_networks: [
          { type: 'wired', interface: 'eth0', ipv4_address: '192.168.7.2/24' },
          { type: 'wired', interface: 'eth1', ipv4_address: '192.168.7.2/16' },
          { ...wifi, ipv4_address: '192.168.7.2/24' },
        ],
      },
    },
    [
      ['agent.additional_networks[1].ipv4_address', 'warning'],
      ['agent.additional_networks[2].ipv4_address', 'warning'],
    ],
  ],
  [
    'the same fixed address in two places where one radio works',
    {
      agent: {
        additional_networks: {
          home: { ...wifi, ipv4_address: '192.168.7.2/24' },
          work: { ...wifi, ssid: 'work', ipv4_address: '192.168.7.2/24' },
        },
      },
    },
    [],
  ],
  [
    'the subnet of the hotspot',
    {
      agent: {
        additional_networks: {
          cable: { type: 'wired', ipv4_address: '10.42.0.9/24' },
          other: { type: 'wired', interface: 'eth1', ipv4_address: '10.42.1.9/24' },
        },
      },
    },
    [['agent.additional_networks.cable.ipv4_address', 'note']],
  ],
  [
    'windows and components inside of agent, a section of it outside',
    { agent: { maintenance_window: { from: '01:00', to: '02:00' }, components: [] }, advanced_settings: {} },
    [
      ['agent.maintenance_window', 'warning'],
      ['agent.components', 'warning'],
      ['advanced_settings', 'warning'],
    ],
  ],
  [
    'zones with the sign of POSIX',
    {
      maintenance_window: [
        { from: '01:00', to: '02:00', time_zone: 'Etc/GMT+5' },
        { from: '03:00', to: '04:00', time_zone: 'Etc/GMT-14' },
        { from: '05:00', to: '06:00', time_zone: 'Etc/GMT' },
      ],
    },
    [
      ['maintenance_window[0].time_zone', 'note'],
      ['maintenance_window[1].time_zone', 'note'],
    ],
  ],
  [
    'numbers that no program can hold',
    {
      components: [{ name: 'a', type: 'b', attributes: { x: [1, 1e308 * 10], y: -1e308 * 10 } }],
      agent: { network_configuration: { user_idle_minutes: 1e308 * 10 } },
    },
    [
      ['agent.network_configuration.user_idle_minutes', 'error'],
      ['components[0].attributes.x[1]', 'warning'],
      ['components[0].attributes.y', 'warning'],
    ],
  ],
  [
    'a bad name server',
    { agent: { additional_networks: [{ type: 'wired', ipv4_dns: ['1.1.1.1', 'dns'] }] } },
    [['agent.additional_networks[0].ipv4_dns', 'error']],
  ],
  [
    'the same network twice',
    { agent: { additional_networks: [wifi, wifi] } },
    [['agent.additional_networks[1].ssid', 'warning']],
  ],
  [
    'reboot before the user is idle',
    { agent: { network_configuration: { device_reboot_after_offline_minutes: 6 } } },
    [['agent.network_configuration.device_reboot_after_offline_minutes', 'warning']],
  ],
  [
    'reboot as soon as the user is idle',
    { agent: { network_configuration: { device_reboot_after_offline_minutes: 7 } } },
    [],
  ],
  [
    'reboot before the hotspot',
    {
      agent: {
        network_configuration: { device_reboot_after_offline_minutes: 34, offline_before_starting_hotspot_minutes: 30 },
      },
    },
    [['agent.network_configuration.device_reboot_after_offline_minutes', 'warning']],
  ],
  [
    'journald with 0',
    { agent: { system_configuration: { logging_journald_system_max_use_megabytes: 0 } } },
    [['agent.system_configuration.logging_journald_system_max_use_megabytes', 'warning']],
  ],
  ['journald off', { agent: { system_configuration: { logging_journald_system_max_use_megabytes: -1 } } }, []],
  [
    'the other spelling',
    { agent: { version_control: { 'viam-server': '1' }, advanced_settings: { disable_viam_server: 'no' } } },
    [
      ['agent.version_control.viam-server', 'error'],
      ['agent.advanced_settings.disable_viam_server', 'error'],
    ],
  ],
  [
    'both spellings',
    { agent: { version_control: { 'viam-server': '1.0.0', 'platform-server': 'dev' } } },
    [['agent.version_control.viam-server', 'warning']],
  ],
  [
    'a version from a file',
    { agent: { version_control: { 'platform-server': 'file:///opt/mine' } } },
    [['agent.version_control.platform-server', 'note']],
  ],
  [
    'unknown keys everywhere',
    {
      surprise: 1,
      agent: { new_section: {}, advanced_settings: { new: 1 }, additional_networks: [{ ...wifi, new: 1 }] },
      maintenance_window: { from: '01:00', to: '02:00', new: 1 },
    },
    [
      ['agent.new_section', 'note'],
      ['agent.advanced_settings.new', 'note'],
      ['agent.additional_networks[0].new', 'note'],
      ['surprise', 'note'],
      ['maintenance_window.new', 'note'],
    ],
  ],
  [
    'a window over midnight',
    { maintenance_window: { days: ['sat'], from: '22:00', to: '04:00', time_zone: 'Europe/Berlin' } },
    [],
  ],
  ['a window without its end', { maintenance_window: { from: '22:00' } }, [['maintenance_window.to', 'error']]],
  [
    'a window with a duration',
    { maintenance_window: { from: '22:00', duration_minutes: 10_080, time_zone: 'device' } },
    [],
  ],
  [
    'several windows',
    {
      maintenance_window: [
        { from: '22:00', to: '23:00' },
        { days: ['sun'], from: '02:00', duration_minutes: 60 },
      ],
    },
    [],
  ],
  [
    'several windows with mistakes',
    {
      maintenance_window: [
        { from: '22:00', to: '23:00', duration_minutes: 5 },
        { from: '22:00', duration_minutes: 10_081 },
        { from: '22:00', to: '22:00', new: 1 },
        7,
      ],
    },
    [
      ['maintenance_window[1].duration_minutes', 'error'],
      ['maintenance_window[3]', 'error'],
      ['maintenance_window[0].duration_minutes', 'error'],
      ['maintenance_window[2].to', 'error'],
      ['maintenance_window[2].new', 'note'],
    ],
  ],
  ['no windows in the list', { maintenance_window: [] }, [['maintenance_window', 'error']]],
  ['a window that is none', { maintenance_window: 'sat' }, [['maintenance_window', 'error']]],
  [
    'a window of no length',
    { maintenance_window: { from: '22:00', to: '22:00' } },
    [['maintenance_window.to', 'error']],
  ],
  [
    'a window on no day, somewhere',
    { maintenance_window: { from: '1:00', to: '24:00', days: [], time_zone: 'Mars/Base' } },
    [
      ['maintenance_window.days', 'error'],
      ['maintenance_window.from', 'error'],
      ['maintenance_window.to', 'error'],
      ['maintenance_window.time_zone', 'error'],
    ],
  ],
  [
    'keys of the machine server',
    {
      components: [{ name: 'cam', type: 'camera' }],
      packages: [],
      maintenance: { sensor_name: 's', maintenance_allowed_key: 'ok' },
      modules: [{ name: 'm' }],
    },
    [],
  ],
  [
    'malformed keys of the machine server',
    {
      components: {},
      services: [{ name: 'a', type: 't' }, { name: 'a', type: 't' }, { type: 't' }, 3, { name: 'b' }],
      maintenance: { sensor_name: 's' },
    },
    [
      ['components', 'error'],
      ['services[1].name', 'error'],
      ['services[2].name', 'error'],
      ['services[3]', 'error'],
      ['services[4].type', 'error'],
      ['maintenance.maintenance_allowed_key', 'error'],
    ],
  ],
];
for (const [name, config, found] of cases) {
  test(`check: ${name}`, () => {
    const problems = checkConfig(config);
    assert.deepEqual(
      problems.map(({ path: where, severity }) => [where, severity]),
      found,
    );
    for (const { message, remedy } of problems)
      assert.ok(/[.…]$/.test(message) && remedy.endsWith('.'), `${message} ${remedy}`);
  });
}

test('what is written in the wrong place, or means the opposite, says what to write', () => {
  const inside = checkConfig({ agent: { maintenance_window: {} } });
  assert.match(inside[0]?.remedy ?? '', /^Write maintenance_window at the top level/);
  const [zone] = checkConfig({ maintenance_window: { from: '01:00', to: '02:00', time_zone: 'Etc/GMT+5' } });
  assert.match(zone?.message ?? '', /^means UTC−5: /);
  assert.match(zone?.remedy ?? '', /^Write Etc\/GMT-5 if you mean UTC\+5/);
});

test('no problem shows a secret', () => {
  const secret = 'tüll-geheim';
  const problems = checkConfig({
    agent: {
      network_configuration: { hotspot_password: secret },
      additional_networks: [{ type: 'wifi', ssid: 'x', psk: secret }],
      advanced_settings: { platform_server_env: { A: [secret] } },
    },
  });
  assert.equal(problems.length, 3);
  assert.ok(!JSON.stringify(problems).includes(secret));
});

test('reading and checking never change what was written', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(fieldTable), 'other'), fc.jsonValue()), (agent) => {
      const before = JSON.stringify(agent);
      readAgent(agent);
      checkConfig({ agent });
      assert.equal(JSON.stringify(agent), before);
    }),
    { seed: 11 },
  );
});

test('whatever is thrown at it, the check answers, and what it lets pass is valid by the JSON Schema', () => {
  const keys = Object.values(fieldTable).flatMap((section) => Object.keys(section));
  const section = fc.oneof(
    fc.dictionary(
      fc.constantFrom(...keys),
      fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(1, 5, true, 'wifi', 'stable', 'home')),
    ),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const config = fc.record(
    {
      agent: fc.dictionary(
        fc.constantFrom(...Object.keys(fieldTable)),
        fc.oneof(section, fc.array(section, { maxLength: 3 })),
      ),
    },
    { requiredKeys: [] },
  );
  const validate = schemaCheck();
  let passed = 0;
  fc.assert(
    fc.property(config, (json) => {
      if (checkConfig(json).some(({ severity }) => severity === 'error')) return;
      passed += 1;
      assert.ok(validate(json), JSON.stringify(validate.errors));
    }),
    { seed: 13, numRuns: 2000 },
  );
  assert.ok(passed > 100, `only ${passed} passed the check`);
});
