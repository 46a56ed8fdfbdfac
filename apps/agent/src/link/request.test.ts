import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { settingsOf } from '../state/settings.ts';
import { nothingYet, type Wanted } from '../state/state.ts';
import { reportOf } from './request.ts';

const layers = { commandLine: undefined, manufacturer: undefined, isFastStart: false };
const wanted: Wanted = {
  revision: 0,
  configSha256: '',
  settings: settingsOf(resolveAgentConfig(layers).config, layers),
  corrections: [],
  ineffective: [],
  versions: { agent: '', server: '' },
  server: undefined,
  agent: undefined,
  clearance: 0,
  systemUpgrades: 0,
  orders: [],
  isFresh: false,
};
const host = {
  hostname: () => 'h',
  platform: 'linux/amd64',
  distro: () => '',
  tags: [],
  bootId: '',
  isSupervisedBySystemd: true,
  abilities: { managesNetworks: false, managesSystem: false },
};
const self = { partId: 'p', agentVersion: '1.0.0', startedAt: 0, host };

test('a time of the journal, which counts microseconds, is reported all the same', () => {
  const wall = 1_795_429_481_489.498;
  const exit = { id: `1.1.0-${'a'.repeat(12)}`, reason: 'exit 70', lines: ['boom'], sinceWall: wall };
  const actual = { ...nothingYet, agentInstall: { ...nothingYet.agentInstall, lastExit: exit } };
  const condition = { code: 'C', severity: 'note', message: 'm', remedy: 'r', sinceWall: wall } as const;
  const report = create(
    AgentReportSchema,
    reportOf(self, { wanted, actual, conditions: [condition] }, { now: 5.25, conditionsSince: () => wall }),
  );
  assert.ok(toBinary(AgentReportSchema, report).length > 0);
  for (const { since } of [report.agent!.lastExit!, report.conditions[0]!]) {
    assert.equal(timestampMs(since!), Math.round(wall));
  }
});
