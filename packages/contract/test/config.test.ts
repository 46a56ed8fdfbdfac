import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { checkConfig, type Severity } from '@platform/contract/config';
import { type Field, fits } from '@platform/contract/config-field';
import { readAgent } from '@platform/contract/config-reading';
import {
  additionalNetwork,
  advancedSettings,
  maintenanceWindow,
  networkConfiguration,
  systemConfiguration,
  versionControl,
} from '@platform/contract/config-schema';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';

const contract = path.resolve(import.meta.dirname, '..');

/** The tables of the specification: key, type, default. */
const specification: Record<string, [key: string, type: string, fallback: string][]> = {
  version_control: [
    ['agent', 'string', '"stable"'],
    ['platform-server', 'string', '"stable"'],
  ],
  advanced_settings: [
    ['debug', 'boolean', 'false'],
    ['disable_network_configuration', 'boolean', 'false'],
    ['disable_system_configuration', 'boolean', 'false'],
    ['disable_platform_server', 'boolean', 'false'],
    ['platform_server_start_timeout_minutes', 'integer', '10'],
    ['wait_for_update_check', 'boolean', 'false'],
  ],
  network_configuration: [
    ['device_reboot_after_offline_minutes', 'integer', '0 (disabled)'],
    ['disable_captive_portal_redirect', 'boolean', 'false'],
    ['fragment_id', 'string', '""'],
    ['hotspot_interface', 'string', 'first discovered 802.11 device'],
    ['hotspot_password', 'string', '"platformsetup"'],
    ['hotspot_prefix', 'string', '"platform-setup"'],
    ['manufacturer', 'string', '"platform"'],
    ['model', 'string', '"custom"'],
    ['offline_before_starting_hotspot_minutes', 'integer', '2'],
    ['retry_connection_timeout_minutes', 'integer', '10'],
    ['turn_on_hotspot_if_wifi_has_no_internet', 'boolean', 'false'],
    ['user_idle_minutes', 'integer', '5'],
    ['wifi_power_save', 'boolean', 'false (when unset, the system default applies; null is accepted)'],
  ],
  additional_networks: [
    ['type', 'string', 'none'],
    ['interface', 'string', '""'],
    ['ssid', 'string', '""'],
    ['psk', 'string', '""'],
    ['priority', 'integer', '0'],
    ['ipv4_address', 'string', '"auto"'],
    ['ipv4_gateway', 'string', '""'],
    ['ipv4_dns', 'array of strings', '[]'],
    ['ipv4_route_metric', 'integer', '0'],
  ],
  system_configuration: [
    ['logging_journald_runtime_max_use_megabytes', 'integer', '512'],
    ['logging_journald_system_max_use_megabytes', 'integer', '512'],
    ['os_auto_upgrade_type', 'string', '""'],
  ],
};

/** Rows of the generated documentation: section → [key, type without unit, default, description]. */
function documented(): Map<string, string[][]> {
  const sections = new Map<string, string[][]>();
  let rows: string[][] = [];
  for (const line of readFileSync(path.resolve(contract, '../../docs/generated/config.md'), 'utf8').split('\n')) {
    const title = /^## (.*)$/.exec(line)?.[1];
    if (title) sections.set(title, (rows = []));
    const cells = /^\| `(.*)` \|$|^\| `([^`]+)` \| (.*) \|$/.exec(line);
    if (cells?.[2] && cells[3]) {
      const [type, , fallback, , description] = cells[3].split(' | ');
      rows.push([cells[2], (type ?? '').replace(/ \[.*\]$/, ''), fallback ?? '', description ?? '']);
    }
  }
  return sections;
}

for (const [section, rows] of Object.entries(specification)) {
  test(`every row of the specification's table ${section} is documented with its type and default; what is more is marked`, () => {
    const found = documented().get(`agent.${section}`) ?? [];
    const beyond = found.filter(([, , , description]) => description?.includes('Beyond the specification.'));
    assert.deepEqual(
      found.filter((row) => !beyond.includes(row)).map((row) => row.slice(0, 3)),
      rows,
    );
  });
}

const schemas = {
  version_control: versionControl,
  advanced_settings: advancedSettings,
  network_configuration: networkConfiguration,
  additional_networks: additionalNetwork,
  system_configuration: systemConfiguration,
  maintenance_window: maintenanceWindow,
};
const jsonSchema: Record<string, unknown> = JSON.parse(
  readFileSync(path.join(contract, 'src/gen/config.schema.json'), 'utf8'),
);
const validate = new Ajv2020.default({ strict: false }).compile(jsonSchema);

/** Values near the limits of a field, and values that are nothing like it. */
function valuesFor(field: Field): fc.Arbitrary<unknown> {
  const near = [field.min, field.max]
    .filter((limit) => limit !== undefined)
    .flatMap((limit) => [limit - 1, limit, limit + 1, limit + 0.5]);
  const samples = [
    '',
    'auto',
    'stable',
    'dev',
    '1.2.3',
    'v1.2.3-rc.1',
    '1.2',
    'https://a.example/f',
    'http://',
    'file:///opt/x',
    'file://x',
    '10.0.0.1',
    '10.0.0.256',
    '10.0.0.1/24',
    '10.0.0.1/33',
    '12345678',
    '1234567',
    'x'.repeat(63),
    'a'.repeat(64),
    'g'.repeat(64),
    'ü'.repeat(16),
    'ü'.repeat(17),
    'wlan0',
    'a b',
    'abcdefghijklmnop',
    '23:59',
    '24:00',
    'mon',
    'wifi',
    'all',
  ];
  const texts = [
    ...samples,
    ...(field.values ?? []),
    ...(field.maxBytes === undefined ? [] : ['y'.repeat(field.maxBytes), 'y'.repeat(field.maxBytes + 1)]),
  ];
  return fc.oneof(
    fc.constantFrom<unknown>(
      ...near,
      ...texts,
      true,
      false,
      null,
      0,
      -1,
      1.5,
      NaN,
      {},
      [],
      [''],
      ['mon'],
      ['1.1.1.1', 'x'],
      { A: 'x' },
      { '1': 'x' },
      { A: 1 },
    ),
    fc.integer({ min: -2000, max: 2_000_000 }),
    fc.string({ unit: 'binary', maxLength: 70 }),
    fc.jsonValue({ maxDepth: 1 }),
  );
}

for (const [section, fields] of Object.entries(fieldTable)) {
  test(`${section}: the devices' table, the schema and the JSON Schema agree on every value`, () => {
    for (const [key, field] of Object.entries<Field>(fields)) {
      const one = (
        schemas[section as keyof typeof schemas].shape as Record<
          string,
          { safeParse(value: unknown): { success: boolean } }
        >
      )[key];
      assert.ok(one, key);
      const check = (value: unknown): void => {
        const verdict = fits(field, value);
        assert.equal(one.safeParse(value).success, verdict, `schema: ${key} = ${JSON.stringify(value)}`);
        const full =
          section === 'maintenance_window'
            ? { from: '01:00', to: '02:00' }
            : section === 'additional_networks'
              ? { type: 'wired' }
              : {};
        const item = { ...full, [key]: value };
        const config =
          section === 'maintenance_window'
            ? { maintenance_window: item }
            : { agent: { [section]: section === 'additional_networks' ? [item] : item } };
        // JSON Schema counts characters where a limit counts bytes: it may only be the milder of the two.
        const isMilder = field.maxBytes !== undefined;
        const isValid = validate(config);
        assert.ok(
          isMilder ? isValid || !verdict : isValid === verdict,
          `JSON Schema: ${key} = ${JSON.stringify(value)}`,
        );
      };
      fc.assert(
        fc.property(
          valuesFor(field).filter((v) => typeof v !== 'number' || Number.isFinite(v)),
          check,
        ),
        { numRuns: 150, seed: 7 },
      );
    }
  });
}

const wifi = { type: 'wifi', ssid: 'home', psk: '12345678' };
const cases: [name: string, config: unknown, found: [path: string, severity: Severity][]][] = [
  ['nothing set', {}, []],
  ['no object', [], [['', 'error']]],
  ['agent is no object', { agent: 5 }, [['agent', 'error']]],
  ['a section is no object', { agent: { advanced_settings: true } }, [['agent.advanced_settings', 'error']]],
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
    'network that is no object',
    { agent: { additional_networks: [7, { type: 'wifi' }] } },
    [
      ['agent.additional_networks[0]', 'error'],
      ['agent.additional_networks[1].ssid', 'error'],
    ],
  ],
  ['networks that are no list', { agent: { additional_networks: 'home' } }, [['agent.additional_networks', 'error']]],
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
    { agent: { network_configuration: { device_reboot_after_offline_minutes: 4 } } },
    [['agent.network_configuration.device_reboot_after_offline_minutes', 'error']],
  ],
  [
    'reboot as soon as the user is idle',
    { agent: { network_configuration: { device_reboot_after_offline_minutes: 5 } } },
    [],
  ],
  [
    'reboot before the hotspot',
    {
      agent: {
        network_configuration: { device_reboot_after_offline_minutes: 29, offline_before_starting_hotspot_minutes: 30 },
      },
    },
    [['agent.network_configuration.device_reboot_after_offline_minutes', 'error']],
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
    { components: {}, services: [{ name: 'a' }, { name: 'a' }, {}, 3], maintenance: { sensor_name: 's' } },
    [
      ['components', 'error'],
      ['services[1].name', 'error'],
      ['services[2].name', 'error'],
      ['services[3]', 'error'],
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
