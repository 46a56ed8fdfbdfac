import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSchema, type SystemReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemJson, systemText } from './system.ts';

const now = 1_800_000_000_000;
const at = (secondsAgo: number) => timestampFromMs(now - secondsAgo * 1000);
const machine = (system?: MessageInitShape<typeof SystemReportSchema>) =>
  create(MachineSchema, { report: { ...(system && { system }) } });

const rows: [name: string, system: MessageInitShape<typeof SystemReportSchema> | undefined, text: string][] = [
  ['not reported', undefined, ''],
  ['nothing waits', {}, 'no upgrade waits'],
  ['one waits', { waitingCount: 1 }, '1 upgrade waits'],
  [
    'the system configuration is disabled',
    { why: 'disable_system_configuration is true; restored: /etc/x' },
    'not managed by the agent: disable_system_configuration is true; restored: /etc/x\nno upgrade waits',
  ],
  [
    'disabled on a system without apt',
    { why: 'disable_system_configuration is true', withoutApt: true },
    'not managed by the agent: disable_system_configuration is true',
  ],
  ['security apart', { waitingCount: 3, securityCount: 1 }, '3 upgrades wait, 1 for security'],
  [
    'a run, and a reboot',
    {
      task: 'upgrade the packages',
      lastRun: {
        started: at(60),
        packages: [{ package: 'curl', fromVersion: '1', toVersion: '2' }],
        packageCount: 3,
        problem: 'Sub-process /usr/bin/dpkg returned an error code (1)',
      },
      rebootNeeded: true,
      rebootNeededSince: at(3600),
      rebootCauses: ['linux-image'],
      rebootWait: 'no maintenance window is configured',
    },
    [
      'no upgrade waits',
      'now: upgrade the packages',
      'last upgraded 1 min ago: curl 2 and 2 more; Sub-process /usr/bin/dpkg returned an error code (1)',
      'reboot needed since 1 h ago because of linux-image: no maintenance window is configured',
    ].join('\n'),
  ],
];
for (const [name, system, text] of rows)
  test(`operating system of a machine: ${name}`, () => {
    assert.equal(systemText(machine(system), now), text);
    assert.equal(systemJson(machine(system)) === null, system === undefined);
  });
