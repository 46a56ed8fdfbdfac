import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigState,
  MachineSchema,
  OnlineState,
  ServerState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineView, machineBadge } from './machine-status.ts';

const view = (fields: MessageInitShape<typeof MachineSchema>) =>
  machineView(create(MachineSchema, { name: 'm', ...fields }));

test('a machine that was never seen', () => {
  const machine = view({ onlineState: OnlineState.AWAITING_SETUP });
  assert.deepEqual(machine.online, { tone: 'quiet', text: 'Awaiting setup' });
  const gone = view({ onlineState: OnlineState.OFFLINE, uninstalledOn: timestampFromMs(7) });
  assert.deepEqual([gone.online, gone.uninstalled], [{ tone: 'quiet', text: 'Uninstalled' }, 7]);
  assert.equal(machine.hasReport, false);
  assert.equal(machine.server.running, 'not reported');
  assert.equal(machine.serverState.text, 'Not reported');
  assert.equal(machine.config.short, 'none');
});

test('uptime is counted from the report, and only for what runs', () => {
  const machine = view({
    reportedOn: timestampFromMs(100_000),
    report: {
      agent: {
        runningVersion: '1.0.0',
        installedVersion: '1.0.0',
        wantedVersion: '1.1.0',
        uptime: durationFromMs(40_000),
      },
      server: { installedVersion: '2.0.0', wantedVersion: '2.0.0', restartNeeded: true },
      serverState: ServerState.WAITING,
    },
  });
  assert.equal(machine.agent.startedAt, 60_000);
  assert.equal(machine.agent.isUpdateWaiting, true);
  assert.equal(machine.server.startedAt, undefined);
  assert.equal(machine.server.isUpdateWaiting, false);
  assert.equal(machine.server.isRestartNeeded, true);
  assert.equal(machine.serverState.tone, 'bad');
});

test('the gravest condition comes first', () => {
  const machine = view({
    report: {
      conditions: [
        { code: 'NOTE', severity: Severity.NOTE },
        { code: 'BAD', severity: Severity.ERROR, remedy: 'mend it' },
        { code: 'WARN', severity: Severity.WARNING },
      ],
    },
  });
  assert.deepEqual(
    machine.conditions.map(({ code, tone }) => [code, tone]),
    [
      ['BAD', 'bad'],
      ['WARN', 'warn'],
      ['NOTE', 'busy'],
    ],
  );
});

test('the word that a list shows beside the state is the gravest of all', () => {
  const report = {
    server: { quarantined: [{ version: '2.0.0' }], restartNeeded: true, trial: { version: '3.0.0', starts: 1 } },
    conditions: [{ severity: Severity.ERROR }, { severity: Severity.WARNING }, { severity: Severity.NOTE }],
  };
  const { server, conditions } = report;
  const unheld = { ...server, quarantined: [] };
  const warnings = conditions.slice(1);
  const table: [MessageInitShape<typeof MachineSchema>['report'], OnlineState, string | undefined][] = [
    [report, OnlineState.ONLINE, 'reverted'],
    [report, OnlineState.OFFLINE, 'reverted'],
    [{ server: unheld, conditions }, OnlineState.ONLINE, 'error'],
    [{ server: unheld, conditions }, OnlineState.OFFLINE, undefined],
    [{ server: unheld, conditions: warnings }, OnlineState.ONLINE, 'on trial'],
    [
      { server: { restartNeeded: true, trial: { version: '3.0.0', starts: 0 } }, conditions: warnings },
      OnlineState.ONLINE,
      'restart needed',
    ],
    [{ server: { restartNeeded: true }, conditions: warnings }, OnlineState.ONLINE, 'restart needed'],
    [{ conditions: warnings }, OnlineState.ONLINE, 'warning'],
    [{ conditions: conditions.slice(2) }, OnlineState.ONLINE, undefined],
  ];
  for (const [reported, onlineState, text] of table)
    assert.equal(machineBadge(view({ onlineState, ...(reported && { report: reported }) }))?.text, text);
});

test("of another product's agent nothing is called in effect, and nothing of it stopped", () => {
  const machine = view({
    onlineState: OnlineState.ONLINE,
    hasOtherAgent: true,
    configStatus: {
      state: ConfigState.NUMBER_ONLY,
      savedRevision: 4n,
      actingRevision: 3n,
      isCurrent: true,
      reason: 'the agent of another product has received revision 3; it does not report what is in effect',
    },
    migrationRequestedOn: timestampFromMs(7000),
    report: { agent: { runningVersion: '0.28.1', installedVersion: '0.28.1' } },
  });
  assert.deepEqual([machine.config.short, machine.config.isInEffect], ['? → 4', false]);
  assert.match(machine.config.text, /^revision 4 saved, not confirmed: the agent of another product has received/);
  assert.deepEqual([machine.agent.running, machine.agent.isRunning, machine.server.isRunning], ['0.28.1', true, false]);
  assert.equal(machine.migrationRequested, 7000);
});

test('a report is of the past while the machine is offline, and while it is too old', () => {
  const [seen, reported] = [timestampFromMs(9_000_000), timestampFromMs(3_000_000)];
  const of = (onlineState: OnlineState, state: ConfigState) =>
    view({
      onlineState,
      lastSeen: seen,
      reportedOn: reported,
      configStatus: { state },
      report: { serverState: ServerState.RUNNING, conditions: [{ code: 'C', severity: Severity.ERROR }] },
    });
  const current = of(OnlineState.ONLINE, ConfigState.IN_EFFECT);
  assert.deepEqual([current.pastAt, machineBadge(current)?.text], [undefined, 'error']);
  const offline = of(OnlineState.OFFLINE, ConfigState.UNKNOWN);
  assert.deepEqual([offline.pastAt, machineBadge(offline)], [9_000_000, undefined]);
  const silent = of(OnlineState.ONLINE, ConfigState.UNKNOWN);
  assert.deepEqual([silent.pastAt, machineBadge(silent)], [3_000_000, undefined]);
  assert.equal(view({ onlineState: OnlineState.AWAITING_SETUP }).pastAt, undefined, 'nothing was reported');
});
