// Which fields of a configuration have an effect on which machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ActingAgent, actedOn, effectProblems, ineffectiveFields } from '@platform/contract/config-effect';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';

const cases: [name: string, agent: ActingAgent, config: unknown, found: string[]][] = [
  ['nothing set', {}, {}, []],
  ['no object', {}, 5, []],
  ['what every agent acts on', {}, { agent: { advanced_settings: { debug: true } } }, []],
  [
    'a field that nothing acts on yet, whatever agent it is',
    { platform: 'linux/amd64', version: '99.0.0', actsOn: ['network_configuration.wifi_country'] },
    { agent: { network_configuration: { wifi_country: 'DE' } } },
    ['agent.network_configuration.wifi_country'],
  ],
  [
    'networks of a machine that does not manage its networks, named once, in both forms',
    { platform: 'linux/amd64', version: '0.1.0', actsOn: actedOn('linux/amd64', { managesNetworks: false }) },
    { agent: { additional_networks: { home: { type: 'wifi', ssid: 'home', psk: '12345678' } } } },
    ['agent.additional_networks.home'],
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

test('an agent reports to act on exactly the fields that say since when', () => {
  const stated = Object.entries(fieldTable).flatMap(([section, fields]) =>
    Object.entries(fields).flatMap(([key, field]) => ('since' in field ? [`${section}.${key}`] : [])),
  );
  assert.deepEqual(actedOn('linux/amd64'), stated);
});

test('a machine that does not manage its networks says how it can', () => {
  const of = { platform: 'linux/amd64', actsOn: actedOn('linux/amd64', { managesNetworks: false }) };
  assert.ok(of.actsOn.length > 10);
  assert.ok(!of.actsOn.some((field) => field.includes('network')));
  const config = { agent: { network_configuration: { user_idle_minutes: 5 } } };
  const [found] = ineffectiveFields(config, of);
  assert.equal(found?.reason, 'the agent of this machine does not manage its networks');
  assert.match(found?.remedy ?? '', /--manage-networks always/);
  assert.match(ineffectiveFields(config, { ...of, version: '0.0.9' })[0]?.remedy ?? '', /^Update the agent/);
});

test('problems contain no secret', () => {
  const config = { agent: { network_configuration: { hotspot_password: 'very secret' } } };
  assert.ok(!JSON.stringify(effectProblems(config, {})).includes('very secret'));
});
