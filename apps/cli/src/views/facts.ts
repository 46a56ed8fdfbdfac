import { BootReasonSchema, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bootReasons, textOfState } from '@platform/contract/machine/program-states';
import { diskPlace } from '@platform/contract/machine/disk-place';
import { formatBytes } from '@platform/kit';
import { enumName } from '../output.ts';

/** The hardware and the operating system of a machine with their wire names; null: not reported. */
export function factsJson({ report }: Machine): Record<string, unknown> | null {
  const facts = report?.facts;
  if (!facts) return null;
  const { disk } = facts;
  return {
    model: facts.model || null,
    serial: facts.serial || null,
    architecture: facts.architecture || null,
    distribution: facts.distribution || null,
    kernel: facts.kernel || null,
    memory_bytes: facts.memoryBytes === undefined ? null : Number(facts.memoryBytes),
    disk: disk
      ? {
          size_bytes: Number(disk.sizeBytes),
          free_bytes: Number(disk.freeBytes),
          wear_percent: disk.wearPercent ?? null,
          mount_point: disk.mountPoint || null,
          inodes: disk.inodes === undefined ? null : Number(disk.inodes),
          free_inodes: disk.freeInodes === undefined ? null : Number(disk.freeInodes),
        }
      : null,
    temperature_celsius: facts.temperatureCelsius ?? null,
    uptime_seconds: facts.uptime ? Number(facts.uptime.seconds) : null,
    boot_reason: facts.bootReason ? enumName(BootReasonSchema, facts.bootReason) : null,
  };
}

/** One fact a line group: hardware, system, disk. Empty: not reported. */
export function factsText({ report }: Machine): string {
  const facts = report?.facts;
  if (!facts) return '';
  const { disk, memoryBytes, temperatureCelsius: celsius } = facts;
  const wear = disk?.wearPercent === undefined ? '' : `, ${disk.wearPercent} % worn`;
  const boot = textOfState(bootReasons, facts.bootReason);
  const lines = [
    [facts.model, facts.serial && `serial ${facts.serial}`, facts.architecture],
    [facts.distribution, facts.kernel && `kernel ${facts.kernel}`],
    [
      memoryBytes !== undefined && `${formatBytes(memoryBytes)} of memory`,
      disk && `disk${diskPlace(disk)} ${formatBytes(disk.freeBytes)} of ${formatBytes(disk.sizeBytes)} free${wear}`,
      celsius !== undefined && `${celsius.toFixed(1)} °C`,
      boot !== undefined && `last start: ${boot}`,
    ],
  ];
  return lines
    .map((line) => line.filter(Boolean).join(', '))
    .filter(Boolean)
    .join('\n');
}
