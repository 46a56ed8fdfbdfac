import { rmSync } from 'node:fs';
import { runFolder } from '@platform/kit/node';

/** How often the gate has started the agent since one showed that it lives. */
export const startsFile = `${runFolder}/agent-starts`;

export function forgetStarts(): void {
  try {
    rmSync(startsFile, { force: true });
  } catch {
    // Not root's: then no gate wrote it.
  }
}
