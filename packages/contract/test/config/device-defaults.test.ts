import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deviceSecret,
  longestDefaults,
  readReportedDefaults,
  reportedDefaults,
} from '../../src/config/device-defaults.ts';

const rows: [what: string, file: unknown, reported: object][] = [
  ['no file', undefined, {}],
  ['no object', [1], {}],
  [
    'all groups that act, with the names of the schema; the management server chooses the versions',
    {
      version_control: { agent: '1.2.3', 'viam-server': 'stable' },
      advanced_settings: { debug: true },
      network_configuration: { manufacturer: 'acme', turn_on_hotspot_if_wifi_has_no_internet: true },
      additional_networks: { barn: { type: 'wifi', ssid: 'Barn', priority: 5 } },
      system_configuration: { logging_journald_system_max_use_megabytes: 100 },
    },
    {
      advanced_settings: { debug: true },
      network_configuration: { manufacturer: 'acme', turn_on_hotspot_if_wifi_has_no_internet: true },
      additional_networks: [{ type: 'wifi', ssid: 'Barn', priority: 5, name: 'barn' }],
      system_configuration: { logging_journald_system_max_use_megabytes: 100 },
    },
  ],
  [
    'secrets without their values, an empty one is none',
    {
      network_configuration: { hotspot_password: 'hunter2hunter2' },
      additional_networks: [
        { type: 'wifi', ssid: 'Barn', psk: 'hunter2hunter2' },
        { type: 'wifi', ssid: 'Open', psk: '' },
      ],
      advanced_settings: { platform_server_env: { TOKEN: 'hunter2hunter2' } },
    },
    {
      network_configuration: { hotspot_password: deviceSecret },
      additional_networks: [
        { type: 'wifi', ssid: 'Barn', psk: deviceSecret },
        { type: 'wifi', ssid: 'Open', psk: '' },
      ],
      advanced_settings: { platform_server_env: { TOKEN: deviceSecret } },
    },
  ],
  [
    'what the agent uses: the nearest value, a duration in minutes, nothing for a wrong type or an unknown key',
    {
      network_configuration: { user_idle_minutes: 1e9, retry_connection_timeout_minutes: '1h0m0s', wifi: 'unknown' },
      advanced_settings: { debug: 'yes' },
      system_configuration: 'none',
      unknown: { debug: true },
    },
    { network_configuration: { user_idle_minutes: 10080, retry_connection_timeout_minutes: 60 } },
  ],
];
for (const [what, file, reported] of rows)
  test(`the defaults of a device: ${what}`, () => {
    const { agentJson, isCut } = reportedDefaults(file);
    assert.deepEqual([readReportedDefaults(agentJson), isCut], [reported, false]);
    assert.doesNotMatch(agentJson, /hunter2/);
  });

test('the defaults of a device are reported up to a limit, and the report says so', () => {
  const networks = Array.from({ length: 500 }, (_, n) => ({ type: 'wifi', ssid: `network number ${n}` }));
  const file = { network_configuration: { manufacturer: 'acme' }, additional_networks: networks };
  const { agentJson, isCut } = reportedDefaults(file);
  assert.ok(isCut && agentJson.length <= longestDefaults);
  assert.deepEqual(readReportedDefaults(agentJson), { network_configuration: { manufacturer: 'acme' } });
  assert.equal(readReportedDefaults(`{"x": "${'x'.repeat(longestDefaults)}"}`), undefined);
  assert.equal(readReportedDefaults('[1]'), undefined);
});
