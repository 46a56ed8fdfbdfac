import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineJson, machineText } from './machine.ts';

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
