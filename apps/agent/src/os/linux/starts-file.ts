import { rmSync } from 'node:fs';

/** In memory, root's alone: what does not outlive the machine's present start. */
export const runFolder = '/run/platform';
/** How often the gate has started the agent since one showed that it lives. */
export const startsFile = `${runFolder}/agent-starts`;

export function forgetStarts(): void {
  try {
    rmSync(startsFile, { force: true });
  } catch {
    // Not root's: then no gate wrote it.
  }
}
