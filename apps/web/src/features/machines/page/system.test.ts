import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSchema, OnlineState, type SystemReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemView } from './system.ts';

const view = (system?: MessageInitShape<typeof SystemReportSchema>) =>
  systemView(create(MachineSchema, { report: { ...(system && { system }) } }));

const summaries: [system: MessageInitShape<typeof SystemReportSchema>, summary: string][] = [
  [{}, 'No upgrade waits'],
  [{ waitingCount: 1, securityCount: 1 }, '1 upgrade waits, 1 for security'],
  [{ waitingCount: 60 }, '60 upgrades wait'],
];
for (const [system, summary] of summaries)
  test(`upgrades of a machine: ${summary}`, () => assert.equal(view(system)?.summary, summary));

test('an agent that reports no operating system has no card', () => assert.equal(view(), undefined));

test('a disabled configuration, on a system without apt', () => {
  const found = view({ why: 'disable_system_configuration is true', withoutApt: true });
  assert.deepEqual([found?.why, found?.hasApt], ['disable_system_configuration is true', false]);
});

test('what waits, what was upgraded, and why a reboot is needed', () => {
  const packages = [{ package: 'curl', fromVersion: '1', toVersion: '2', isSecurity: true }];
  const found = view({
    waitingCount: 3,
    waiting: packages,
    lastRun: { started: timestampFromMs(5), packages, packageCount: 1 },
    rebootNeeded: true,
    rebootNeededSince: timestampFromMs(7),
    rebootWait: 'no maintenance window is configured',
  });
  const upgrade = { name: 'curl', versions: '1 → 2', isSecurity: true };
  assert.deepEqual([found?.waiting, found?.more], [[upgrade], 2]);
  assert.deepEqual(found?.lastRun, { started: 5, packages: [upgrade], count: 1, problem: '' });
  assert.deepEqual(found?.reboot, { since: 7, causes: 'an upgrade', wait: 'no maintenance window is configured' });
});

test('a machine that is offline is not shown as upgrading', () => {
  const taskAt = (onlineState: OnlineState) =>
    systemView(create(MachineSchema, { onlineState, report: { system: { task: 'apt-get upgrade' } } }))?.task;
  assert.equal(taskAt(OnlineState.ONLINE), 'apt-get upgrade');
  assert.equal(taskAt(OnlineState.OFFLINE), '');
});
