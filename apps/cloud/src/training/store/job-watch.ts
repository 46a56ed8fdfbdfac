import { Cell, changedOr, type Clock } from '@platform/kit';
import { jobChannel } from './jobs.ts';
import type { Notifications } from '../../database/notifications.ts';

/** What a long poll waits for: a change of one job, or a pending job in one of these organizations. */
export type Awaited = { jobId: string } | { orgIds: readonly string[] };

/** Wakes the long polls that a change concerns. */
export type JobWatch = { open(awaited: Awaited): { turns: Cell<number>; close(): void }; close(): void };

const keysOf = (awaited: Awaited): string[] =>
  'jobId' in awaited ? [`job ${awaited.jobId}`] : awaited.orgIds.map((orgId) => `queue ${orgId}`);

export function watchJobs(notifications: Notifications): JobWatch {
  const waiting = new Map<string, Set<Cell<number>>>();
  const turn = (cells: Iterable<Cell<number>>): void => {
    for (const cell of cells) cell.update((turns) => turns + 1);
  };
  const close = notifications.listen(jobChannel, (payload) => {
    if (payload === undefined) return turn([...waiting.values()].flatMap((cells) => [...cells]));
    const [jobId, orgId, state] = payload.split(' ');
    turn(waiting.get(`job ${jobId}`) ?? []);
    if (state === 'pending') turn(waiting.get(`queue ${orgId}`) ?? []);
  });
  return {
    close,
    open(awaited) {
      const turns = new Cell(0);
      for (const key of keysOf(awaited)) waiting.set(key, (waiting.get(key) ?? new Set()).add(turns));
      return {
        turns,
        close() {
          for (const key of keysOf(awaited)) {
            const cells = waiting.get(key);
            cells?.delete(turns);
            if (cells?.size === 0) waiting.delete(key);
          }
        },
      };
    },
  };
}

/** A notification can be lost while the connection is re-established. */
const pollMs = 2_000;

/**
 * Probes immediately and after each change, until there is a result, `ms` have passed or `signal` aborts.
 *
 * @returns the result of `probe`; undefined: none in that time.
 */
export async function longPoll<T>(
  { watch, awaited, clock, signal }: { watch: JobWatch; awaited: Awaited; clock: Clock; signal: AbortSignal },
  ms: number,
  probe: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const end = clock.now() + ms;
  const { turns, close } = watch.open(awaited);
  try {
    while (!signal.aborted) {
      const turn = turns.get();
      const found = await probe();
      if (found !== undefined) return found;
      const left = end - clock.now();
      if (left <= 0) return undefined;
      // If something changed during the probe, probe again without waiting.
      if (turns.get() === turn) await changedOr(turns, Math.min(left, pollMs), clock, signal);
    }
    return undefined;
  } finally {
    close();
  }
}
