import { errorText, type Clock, type Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { forgetChecked, readChecked, writeChecked } from './checked-file.ts';

const file = 'state/run.json';
const mostWords = 40;

/** What outlives an agent that had no time for last words. */
export interface Afterlife {
  /** Another one after each start of the machine; empty: unknown. */
  bootId: string;
  /** What was written about the agent before, by whoever watched over it: oldest first. */
  lastWords: () => Promise<readonly string[]>;
}
export const noAfterlife: Afterlife = { bootId: '', lastWords: async () => [] };

interface Run {
  version: string;
  boot_id: string;
  /** ms since 1970. */
  started: number;
  has_ended: boolean;
}

const runOf = (value: unknown): Run => {
  const { version, boot_id, started, has_ended } = value as Partial<Record<keyof Run, unknown>>;
  if (Number.isNaN(new Date(Number(started)).getTime())) throw new Error('"started" is no time'); // of another agent's form
  return {
    version: String(version),
    boot_id: String(boot_id ?? ''),
    started: Number(started),
    has_ended: has_ended === true,
  };
};

/** Tells what became of the agent before, if it did not end in order, and remembers this one. Never throws. */
export async function beginRun(
  version: string,
  { disk, afterlife, clock, log }: { disk: Disk; afterlife: Afterlife; clock: Clock; log: Log },
): Promise<{ end: () => Promise<void> }> {
  const { value: before } = await readChecked(disk, file, runOf);
  const run: Run = { version, boot_id: afterlife.bootId, started: Math.round(clock.wall()), has_ended: false };
  // A full disk is told by others that need it more. What was noted before would be wrong by then: better nothing.
  const write = (state: Run) => writeChecked(disk, file, state).catch(() => forgetChecked(disk, file));
  if (before && !before.has_ended) {
    const isReboot = before.boot_id !== '' && before.boot_id !== afterlife.bootId;
    const lastWords = await afterlife.lastWords().catch((error: unknown) => [errorText(error)]);
    log.warn('the agent before this one did not end in order', {
      version: before.version,
      started: new Date(before.started).toISOString(),
      because: isReboot ? 'the machine was switched off or restarted' : 'it crashed or was killed',
      ...(lastWords.length > 0 && { lastWords: lastWords.slice(-mostWords) }),
    });
  }
  await write(run);
  return { end: () => write({ ...run, has_ended: true }) };
}
