import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors';
import { programName, withVersion } from './version-pin.ts';

const rows: [name: string, before: object, program: 'agent' | 'server', wish: string | undefined, after: object][] = [
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
for (const [name, before, program, wish, after] of rows)
  test(`a pin in a configuration: ${name}`, () =>
    assert.deepEqual(JSON.parse(withVersion(JSON.stringify(before), program, wish)), after));

test('programs have two names', () => {
  assert.equal(programName('agent'), 'agent');
  assert.throws(() => programName('platform-agent'), PlatformError);
});
