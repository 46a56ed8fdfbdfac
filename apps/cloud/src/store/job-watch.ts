import { Cell, changedOr, type Clock } from '@platform/kit';
import { jobChannel } from './jobs.ts';
import type { Notifications } from './notifications.ts';

/** Turns with every transition of any job; what held calls wait on. */
export type JobWatch = { readonly turns: Cell<number>; close(): void };

export function watchJobs(notifications: Notifications): JobWatch {
  const turns = new Cell(0);
  const close = notifications.listen(jobChannel, () => turns.update((turn) => turn + 1));
  return { turns, close };
}

/** A notification can be missed while its connection is made again. */
const pollMs = 2_000;

/**
 * Looks, and looks again when something turned, until there is an answer, `ms` have passed or `signal` aborts.
 *
 * @returns what `look` found; undefined: nothing in that time.
 */
export async function held<T>(
  { turns, clock, signal }: { turns: Cell<number>; clock: Clock; signal: AbortSignal },
  ms: number,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const end = clock.now() + ms;
  while (!signal.aborted) {
    const turn = turns.get();
    const found = await look();
    if (found !== undefined) return found;
    const left = end - clock.now();
    if (left <= 0) return undefined;
    // What turned during the look is looked at once more, without waiting.
    if (turns.get() === turn) await changedOr(turns, Math.min(left, pollMs), clock, signal);
  }
  return undefined;
}
