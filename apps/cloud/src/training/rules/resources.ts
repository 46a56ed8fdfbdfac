import type { JobLimits } from '@platform/contract/job/job';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

/** Resources that a client requests; 0: the default. */
export interface RequestedResources {
  readonly gpus: number;
  readonly timeLimitMs: number;
  readonly memoryMib: number;
  readonly diskMib: number;
}

/** Limits of a job without a request; the runner enforces them. */
const defaultLimits: JobLimits = { wall_seconds: 3600, memory_mib: 2048, disk_mib: 4096, gpus: 0 };

const most = { gpus: 16, seconds: 7 * 86_400, memoryMib: 1024 * 1024, diskMib: 1024 * 1024 } as const;
const least = { seconds: 10, memoryMib: 128, diskMib: 64 } as const;

/** @throws PlatformError INVALID_ARGUMENT with the field and its limits. */
export function limitsOf(requested: RequestedResources | undefined): JobLimits {
  if (!requested) return defaultLimits;
  const seconds = Math.ceil(requested.timeLimitMs / 1000);
  return {
    wall_seconds: within('time_limit', seconds, least.seconds, most.seconds, 's') || defaultLimits.wall_seconds,
    memory_mib:
      within('memory_mib', requested.memoryMib, least.memoryMib, most.memoryMib, 'MiB') || defaultLimits.memory_mib,
    disk_mib: within('disk_mib', requested.diskMib, least.diskMib, most.diskMib, 'MiB') || defaultLimits.disk_mib,
    gpus: within('gpus', requested.gpus, 0, most.gpus, 'GPUs'),
  };
}

/** The value; 0 if it was not set. */
function within(name: string, value: number, min: number, max: number, unit: string): number {
  if (value === 0 || (value >= min && value <= max)) return value;
  throw invalidArgument(
    `resources.${name}`,
    `${value} ${unit}`,
    `${min} to ${max} ${unit}, or nothing for the default`,
  );
}
