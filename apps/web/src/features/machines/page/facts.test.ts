import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { BootReason, MachineSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bootedAt, factRows } from './facts.ts';

test('the card of a machine leaves out what it does not report', () => {
  assert.deepEqual(factRows(create(MachineSchema, { report: {} })), []);
  const machine = create(MachineSchema, {
    report: { facts: { kernel: '6.1.0', temperatureCelsius: 0, bootReason: BootReason.WATCHDOG } },
  });
  assert.deepEqual(factRows(machine), [
    ['Kernel', '6.1.0'],
    ['Temperature', '0.0 °C'],
    ['Last start', 'reset by the watchdog'],
  ]);
  assert.equal(bootedAt(machine), undefined);
});

test('a machine started its uptime before its last report', () => {
  const machine = create(MachineSchema, {
    report: { facts: { uptime: { seconds: 60n } } },
    reportedOn: { seconds: 1_800_000_000n },
  });
  assert.equal(bootedAt(machine), 1_799_999_940_000);
});
