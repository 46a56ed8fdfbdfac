import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { BootReason, type HostFactsSchema, MachineSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { factsJson, factsText } from './facts.ts';

const machine = (facts?: MessageInitShape<typeof HostFactsSchema>) =>
  create(MachineSchema, { report: { ...(facts && { facts }) } });

const full = {
  model: 'Raspberry Pi 5',
  serial: '1000',
  architecture: 'aarch64',
  distribution: 'Debian 12',
  kernel: '6.1.0',
  memoryBytes: 4_000_000_000n,
  disk: { sizeBytes: 32_000_000_000n, freeBytes: 0n, wearPercent: 30 },
  temperatureCelsius: 0,
  uptime: { seconds: 60n },
  bootReason: BootReason.POWER_LOST,
};

test('facts: not reported', () => {
  assert.deepEqual([factsText(machine()), factsJson(machine())], ['', null]);
});

test('facts: a missing value is left out of the text and null in JSON', () => {
  const some = machine({ kernel: '6.1.0', disk: { sizeBytes: 2_000_000_000n, freeBytes: 1_000_000_000n } });
  const [, disk] = factsText(some).split('\n');
  assert.match(factsText(some), /^kernel 6\.1\.0\n/);
  assert.match(disk ?? '', /^disk \S+ .?B of \S+ .?B free$/);
  const json = factsJson(some);
  assert.deepEqual([json?.['model'], json?.['memory_bytes'], json?.['boot_reason']], [null, null, null]);
});

test('facts: zero is a value', () => {
  const text = factsText(machine(full));
  assert.match(text, /^Raspberry Pi 5, serial 1000, aarch64\nDebian 12, kernel 6\.1\.0\n/);
  assert.match(text, /30 % worn, 0\.0 °C, last start: power lost or reset$/);
  const json = factsJson(machine(full));
  assert.deepEqual(json?.['disk'], {
    size_bytes: 32_000_000_000,
    free_bytes: 0,
    wear_percent: 30,
    mount_point: null,
    inodes: null,
    free_inodes: null,
  });
  assert.deepEqual(
    [json?.['temperature_celsius'], json?.['uptime_seconds'], json?.['boot_reason']],
    [0, 60, 'power_lost'],
  );
});
