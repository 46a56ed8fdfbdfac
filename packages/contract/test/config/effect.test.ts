// Which fields of a configuration have an effect on which machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ActingAgent, actedOn, effectProblems, ineffectiveFields } from '@platform/contract/config/effect';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';

const cases: [name: string, agent: ActingAgent, config: unknown, found: string[]][] = [
  ['nothing set', {}, {}, []],
  ['no object', {}, 5, []],
  ['what every agent acts on', {}, { agent: { advanced_settings: { debug: true } } }, []],
  [
    'networks of a machine that does not manage its networks, named once, in both forms',
    {
      platform: 'linux/amd64',
      version: '0.1.0',
      actsOn: actedOn('linux/amd64', { managesNetworks: false, managesSystem: true }),
    },
    { agent: { additional_networks: { home: { type: 'wifi', ssid: 'home', psk: '12345678' } } } },
    ['agent.additional_networks.home'],
  ],
  [
    'the operating system, on a machine whose agent does not manage it',
    {
      platform: 'linux/amd64',
      version: '0.1.0',
      actsOn: actedOn('linux/amd64', { managesNetworks: true, managesSystem: false }),
    },
    { agent: { system_configuration: { logging_journald_system_max_use_megabytes: 64 } } },
    ['agent.system_configuration.logging_journald_system_max_use_megabytes'],
  ],
  [
    'a system configuration that is disabled',
    {},
    {
      agent: {
        advanced_settings: { disable_system_configuration: true },
        system_configuration: { logging_journald_system_max_use_megabytes: 64 },
      },
    },
    ['agent.system_configuration.logging_journald_system_max_use_megabytes'],
  ],
  [
    'an older agent',
    { version: '0.0.9' },
    { agent: { advanced_settings: { debug: true } }, maintenance_window: { from: '01:00', to: '02:00' } },
    ['agent.advanced_settings.debug', 'maintenance_window.from', 'maintenance_window.to'],
  ],
  [
    'a build on the way to the version',
    { version: '0.1.0-dev.3' },
    { agent: { advanced_settings: { debug: true } } },
    [],
  ],
  [
    'what the agent reports counts before its version',
    { version: '9.0.0', actsOn: [] },
    { agent: { advanced_settings: { debug: true } } },
    ['agent.advanced_settings.debug'],
  ],
  [
    'the other name of a field, as it is written',
    { version: '0.0.1' },
    { agent: { advanced_settings: { disable_viam_server: true } } },
    ['agent.advanced_settings.disable_viam_server'],
  ],
  [
    'a key of agents of other products',
    {},
    { agent: { network_configuration: { bluetooth_trust_all: false } } },
    ['agent.network_configuration.bluetooth_trust_all'],
  ],
  [
    'keys of agents of other products for the system',
    {},
    {
      agent: {
        system_configuration: {
          logging_journald_storage: 'auto',
          forward_system_logs: 'all',
          os_managed_upgrade_interval_hours: 24,
        },
      },
    },
    [
      'agent.system_configuration.logging_journald_storage',
      'agent.system_configuration.forward_system_logs',
      'agent.system_configuration.os_managed_upgrade_interval_hours',
    ],
  ],
  ['an unknown key is reported elsewhere', {}, { agent: { advanced_settings: { debgu: true } } }, []],
];

for (const [name, agent, config, found] of cases)
  test(`no effect here: ${name}`, () => {
    assert.deepEqual(
      ineffectiveFields(config, agent).map(({ path }) => path),
      found,
    );
    assert.ok(effectProblems(config, agent).every(({ severity }) => severity === 'warning'));
  });

for (const [section, fields] of Object.entries(fieldTable))
  for (const [key, field] of Object.entries(fields)) {
    const actsOn = [`${section}.${key}`];
    const isPlanned = !('since' in field);
    test(`${section}.${key} has ${isPlanned ? 'no effect, whatever the agent says' : 'an effect where the agent says so'}`, () => {
      const config =
        section === 'maintenance_window'
          ? { [section]: { [key]: 1 } }
          : { agent: { [section]: section === 'additional_networks' ? [{ [key]: 1 }] : { [key]: 1 } } };
      const found = ineffectiveFields(config, {
        platform: 'linux/amd64',
        version: '99.0.0',
        actsOn: [...actsOn, 'additional_networks.type'],
      });
      assert.equal(found.length, isPlanned ? 1 : 0);
    });
  }

test('an agent reports to act on exactly the fields that say since when', () => {
  const stated = Object.entries(fieldTable).flatMap(([section, fields]) =>
    Object.entries(fields).flatMap(([key, field]) => ('since' in field ? [`${section}.${key}`] : [])),
  );
  assert.deepEqual(actedOn('linux/amd64'), stated);
});

test('a machine that does not manage its networks says how it can', () => {
  const of = {
    platform: 'linux/amd64',
    actsOn: actedOn('linux/amd64', { managesNetworks: false, managesSystem: true }),
  };
  assert.ok(of.actsOn.length > 10);
  assert.ok(!of.actsOn.some((field) => field.includes('network')));
  const config = { agent: { network_configuration: { user_idle_minutes: 5 } } };
  const [found] = ineffectiveFields(config, of);
  assert.equal(found?.reason, 'the agent of this machine does not manage its networks');
  assert.match(found?.remedy ?? '', /--manage-networks always/);
  assert.match(ineffectiveFields(config, { ...of, version: '0.0.9' })[0]?.remedy ?? '', /^Update the agent/);
});

test('a machine that does not manage its operating system says how it can', () => {
  const of = {
    platform: 'linux/amd64',
    actsOn: actedOn('linux/amd64', { managesNetworks: true, managesSystem: false }),
  };
  const [found] = ineffectiveFields({ agent: { advanced_settings: { disable_system_configuration: true } } }, of);
  assert.equal(found?.reason, 'the agent of this machine does not manage its operating system');
  assert.match(found?.remedy ?? '', /service of systemd/);
});

test('problems contain no secret', () => {
  const config = { agent: { network_configuration: { hotspot_password: 'very secret' } } };
  assert.ok(!JSON.stringify(effectProblems(config, {})).includes('very secret'));
});
