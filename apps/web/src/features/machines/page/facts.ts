import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bootReasons, textOfState } from '@platform/contract/machine/program-states';
import { diskPlace } from '@platform/contract/machine/disk-place';
import { bytes } from '../../../ui/quantities.ts';

/** The hardware and the operating system of a machine as labels and values; what it does not report is left out. */
export function factRows({ report }: Machine): readonly (readonly [label: string, value: string])[] {
  const facts = report?.facts;
  if (!facts) return [];
  const { disk, memoryBytes, temperatureCelsius: celsius } = facts;
  const wear = disk?.wearPercent === undefined ? '' : `, ${disk.wearPercent} % of its life used`;
  const rows = [
    ['Model', facts.model],
    ['Serial', facts.serial],
    ['Architecture', facts.architecture],
    ['Distribution', facts.distribution],
    ['Kernel', facts.kernel],
    ['Memory', memoryBytes === undefined ? '' : bytes(memoryBytes)],
    ['Disk', disk ? `${bytes(disk.freeBytes)} of ${bytes(disk.sizeBytes)} free${wear}${diskPlace(disk)}` : ''],
    ['Temperature', celsius === undefined ? '' : `${celsius.toFixed(1)} °C`],
    ['Time zone', facts.timeZone],
    ['Last start', textOfState(bootReasons, facts.bootReason) ?? ''],
  ] as const;
  return rows.filter(([, value]) => value !== '');
}

/** When the machine started, ms since 1970; undefined: not reported. */
export function bootedAt({ report, reportedOn }: Machine): number | undefined {
  const uptime = report?.facts?.uptime;
  return uptime && reportedOn ? Number(reportedOn.seconds - uptime.seconds) * 1000 : undefined;
}
