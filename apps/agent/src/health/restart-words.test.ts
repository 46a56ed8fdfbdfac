// What is reported of a machine server that was replaced on the disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultAgentConfig } from '@platform/contract/config/agent-config';
import { settingsOf } from '../state/settings.ts';
import { idOf, nothingYet, type Wanted } from '../state/state.ts';
import { deriveConditions } from './conditions.ts';

const wanted: Wanted = {
  revision: 1,
  configSha256: 'a',
  settings: settingsOf(defaultAgentConfig(), { isFastStart: false }),
  corrections: [],
  ineffective: [],
  versions: { agent: '', server: '' },
  server: undefined,
  agent: undefined,
  clearance: 0,
  systemUpgrades: 0,
  orders: [],
  isFresh: true,
};
const id = (version: string, digit: string): string => idOf(version, digit.repeat(64));

const table: [name: string, running: string, installed: string, message: RegExp][] = [
  ['an upgrade', id('0.1.0', 'a'), id('0.2.0', 'b'), /^A newer version .* \(0\.2\.0, and 0\.1\.0 runs\)\.$/],
  [
    'a downgrade',
    id('0.2.0', 'a'),
    id('0.1.0-dev.9', 'b'),
    /^An older version .* \(0\.1\.0-dev\.9, and 0\.2\.0 runs\)\.$/,
  ],
  ['other bytes', id('0.1.0', 'a'), id('0.1.0', 'b'), /^Another version /],
  ['a build by URL', id('customURL', 'a'), id('0.1.0', 'b'), /^Another version /],
];
for (const [name, running, installed, message] of table) {
  test(`RESTART_NEEDED after ${name} compares the versions`, () => {
    const { server, install } = nothingYet;
    const actual = { ...nothingYet, server: { ...server, running }, install: { ...install, installed, running } };
    const [condition] = deriveConditions(wanted, actual).filter(({ code }) => code === 'RESTART_NEEDED');
    assert.match(condition?.message ?? '', message);
  });
}

test('RESTART_NEEDED of a file that was replaced under the server names no version', () => {
  const running = id('0.1.0', 'a');
  const server = { ...nothingYet.server, running, isReplacedOnDisk: true };
  const actual = { ...nothingYet, server, install: { ...nothingYet.install, installed: running, running } };
  const [condition] = deriveConditions(wanted, actual).filter(({ code }) => code === 'RESTART_NEEDED');
  assert.equal(condition?.message, 'The file of the machine server was replaced since it started.');
});
