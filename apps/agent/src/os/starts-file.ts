import { rmSync } from 'node:fs';
import { runFolder } from '@platform/kit/node';

/** Counts the gate's starts of the agent since the last watchdog message of an agent. */
export const startsFile = `${runFolder}/agent-starts`;

export function forgetStarts(): void {
  try {
    rmSync(startsFile, { force: true });
  } catch {
    // Not root: then no gate wrote it.
  }
}
