import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigState,
  MachineSchema,
  OnlineState,
  ServerState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineJson, machineRow, machineText } from './machine.ts';

test('machine show: what a version waits for, with the time left', () => {
  const reason = 'it waits for the window Sat 22:00 Europe/Berlin';
  const why = '1.0.0 is used. It waits for the window Sat 22:00 Europe/Berlin.';
  const server = { runningVersion: '1.0.0', why, wait: { reason, until: timestampFromMs(10_800_000) } };
  const machine = create(MachineSchema, { name: 'press', report: { server } });
  assert.match(machineText(machine, 1_000), /It waits for the window Sat 22:00 Europe\/Berlin \(in 3 h\)\./);
  const { programs } = machineJson(machine) as { programs: { server: { wait: unknown }; agent: { wait: unknown } } };
  assert.deepEqual(programs.server.wait, { reason, until: '1970-01-01T03:00:00.000Z' });
  assert.equal(programs.agent.wait, null);
});

test('machine show and list: what an offline machine reported is of its last report', () => {
  const program = { runningVersion: '2.0.0', trial: { version: '2.0.0', previousVersion: '1.0.0', starts: 1 } };
  const at = (onlineState: OnlineState, state: ConfigState, serverState: ServerState = ServerState.RUNNING) =>
    create(MachineSchema, {
      name: 'press',
      onlineState,
      lastSeen: timestampFromMs(1_000),
      configStatus: { state, savedRevision: 3n, reason: 'the machine is offline', actingRevision: 3n },
      wantedRevision: 3n,
      report: { agent: program, server: program, serverState },
    });
  const online = machineText(at(OnlineState.ONLINE, ConfigState.IN_EFFECT), 61_000);
  assert.match(online, /^ *server +2\.0\.0 runs$/m);
  assert.match(online, /on trial +2\.0\.0, start 1 of 3/);
  assert.doesNotMatch(online, /last report/);
  for (const machine of [
    at(OnlineState.OFFLINE, ConfigState.UNKNOWN),
    at(OnlineState.ONLINE, ConfigState.UNKNOWN), // its reports do not arrive
  ]) {
    const text = machineText(machine, 61_000);
    assert.match(text, /^state .*below is its last report, seen 1 min ago$/m);
    assert.match(text, /^ *server +2\.0\.0 ran$/m);
    assert.match(text, /on trial +at its last report: 2\.0\.0, start 1 of 3/);
    assert.match(text, /not confirmed: the machine is offline/);
    assert.equal(machineRow(machine, 61_000)[2], 'was running');
    assert.equal(machineRow(machine, 61_000)[5], '?/3');
    assert.equal(machineJson(machine)['is_report_past'], true);
  }
  const waiting = at(OnlineState.OFFLINE, ConfigState.UNKNOWN, ServerState.WAITING);
  assert.match(machineText(waiting, 61_000), /at its last report: ended, starts again soon/);
});
