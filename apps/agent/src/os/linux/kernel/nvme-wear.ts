// The wear of an NVMe disk. The kernel passes it on to a privileged command only, so smartctl reads it where it is installed.
import { isObject } from '@platform/contract/text/json-object';
import type { Clock } from '@platform/kit';
import type { Programs } from '../../ports.ts';

/** It changes by a percent in weeks at most. */
const readEveryMs = 24 * 3_600_000;

/** Used share of the life of the disk in percent, of `smartctl --json --attributes`; undefined: not reported. */
export function nvmeWear(text: string): number | undefined {
  const log = parsed(text)?.['nvme_smart_health_information_log'];
  const used = isObject(log) ? log['percentage_used'] : undefined;
  return typeof used === 'number' && Number.isInteger(used) && used >= 0 && used <= 255 ? used : undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The disk of a partition or namespace: nvme0n1p2 → nvme0n1. Undefined: no NVMe disk. */
export const nvmeDisk = (device: string): string | undefined => /^(nvme\d+n\d+)(?:p\d+)?$/.exec(device)?.[1];

/** Reads the wear of a disk such as nvme0n1, once a day. */
export function nvmeWearReader(programs: Programs, clock: Clock): (disk: string) => Promise<number | undefined> {
  const known = new Map<string, { at: number; wear: Promise<number | undefined> }>();
  return (disk) => {
    const before = known.get(disk);
    if (before && clock.now() - before.at < readEveryMs) return before.wear;
    const wear = programs
      .run('smartctl', '--json', '--attributes', `/dev/${disk}`)
      .then(({ text }) => nvmeWear(text))
      .catch(() => undefined);
    known.set(disk, { at: clock.now(), wear });
    return wear;
  };
}
