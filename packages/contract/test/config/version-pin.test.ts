import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptPins, versionOf, withVersion } from '../../src/config/version-pin.ts';

const rows: [name: string, before: object, program: 'agent' | 'server', desired: string | undefined, after: object][] =
  [
    ['the first pin', {}, 'server', '1.4.0', { agent: { version_control: { 'platform-server': '1.4.0' } } }],
    [
      'beside everything else',
      { components: [1], agent: { advanced_settings: { debug: true }, version_control: { agent: 'dev' } } },
      'server',
      'file:///opt/x',
      {
        components: [1],
        agent: {
          advanced_settings: { debug: true },
          version_control: { agent: 'dev', 'platform-server': 'file:///opt/x' },
        },
      },
    ],
    [
      'another spelling gives way',
      { agent: { version_control: { 'viam-server': '1.0.0' } } },
      'server',
      'dev',
      { agent: { version_control: { 'platform-server': 'dev' } } },
    ],
    [
      'no pin leaves nothing behind',
      { x: 1, agent: { version_control: { agent: '1.0.0' } } },
      'agent',
      undefined,
      { x: 1 },
    ],
    ['no pin where there was none', { x: 1 }, 'server', undefined, { x: 1 }],
  ];
for (const [name, before, program, desired, after] of rows)
  test(`a pin in a configuration: ${name}`, () => {
    const text = withVersion(JSON.stringify(before), program, desired);
    assert.deepEqual(JSON.parse(text), after);
    assert.equal(versionOf(JSON.parse(text), program), desired ?? 'stable');
  });

test('what a configuration says of a program, however it is spelled or broken', () => {
  const server = (versions: unknown) => versionOf({ agent: { version_control: versions } }, 'server');
  assert.equal(server({ 'viam-server': '1.0.0' }), '1.0.0');
  assert.equal(server({ 'platform-server': 7 }), 'stable');
  assert.equal(server('dev'), 'stable');
  assert.equal(versionOf(null, 'agent'), 'stable');
});

const pinned = { agent: { version_control: { agent: '1.0.0', 'platform-server': '2.0.0' } } };
const merges: [name: string, before: object, next: string, after: unknown, kept: string[]][] = [
  ['both pins stay', pinned, '{"x":1}', { x: 1, ...pinned }, ['agent 1.0.0', 'server 2.0.0']],
  [
    'what is named is taken',
    pinned,
    '{"agent":{"version_control":{"agent":"stable"}}}',
    { agent: { version_control: { agent: 'stable', 'platform-server': '2.0.0' } } },
    ['server 2.0.0'],
  ],
  [
    'another spelling names it, too',
    { agent: { version_control: { 'platform-server': '2.0.0' } } },
    '{"agent":{"version_control":{"viam-server":"dev"}}}',
    { agent: { version_control: { 'viam-server': 'dev' } } },
    [],
  ],
  ['no pin, nothing kept', { x: 1 }, '{"x":2}', { x: 2 }, []],
  ['another type on the way is left to be refused', pinned, '{"agent":7}', { agent: 7 }, []],
  ['a list on the way, too', pinned, '{"agent":{"version_control":[]}}', { agent: { version_control: [] } }, []],
];
for (const [name, before, next, after, kept] of merges) {
  test(`pins that a new configuration does not name: ${name}`, () => {
    const found = keptPins(JSON.stringify(before), next);
    assert.deepEqual(JSON.parse(found.text), after);
    assert.deepEqual(
      found.kept.map((one) => one.join(' ')),
      kept,
    );
  });
}

test('text that is not a configuration stays as it is', () => {
  for (const next of ['', 'no JSON', '[]', 'null'])
    assert.deepEqual(keptPins(JSON.stringify(pinned), next), { text: next, kept: [] });
});
