// Every field: as the specification has it, and the same in all forms in which it is kept.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type Field, fits } from '@platform/contract/config/field-row';
import {
  additionalNetwork,
  advancedSettings,
  networkConfiguration,
  systemConfiguration,
  versionControl,
} from '@platform/contract/config/schema';
import { maintenanceWindow } from '@platform/contract/config/window-schema';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { schemaCheck } from '../schema-check.ts';

const contract = path.resolve(import.meta.dirname, '../..');

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
const validate = schemaCheck();

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
        const isAllowed = fits(field, value);
        assert.equal(one.safeParse(value).success, isAllowed, `schema: ${key} = ${JSON.stringify(value)}`);
        const full =
          section === 'maintenance_window'
            ? { from: '01:00' }
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
          isMilder ? isValid || !isAllowed : isValid === isAllowed,
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
