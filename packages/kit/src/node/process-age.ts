import { readFileSync } from 'node:fs';

/** Unit of start times in Linux (USER_HZ) on every platform that Node and Bun support. */
const ticksPerSecond = 100;

/**
 * Age of a process from its start time, as `processStartTime` returns it; undefined if the system does not report it.
 */
export function processAgeMs(startTime: string): number | undefined {
  try {
    const upSeconds = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
    const ticks = Number(startTime.split('/')[1]);
    const ageMs = Math.round((upSeconds - ticks / ticksPerSecond) * 1000);
    return Number.isFinite(ageMs) ? Math.max(0, ageMs) : undefined;
  } catch {
    return undefined;
  }
}
