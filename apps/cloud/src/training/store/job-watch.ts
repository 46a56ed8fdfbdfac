import { Cell, type Clock } from '@platform/kit';
import { longPoll } from '../../rpc/long-poll.ts';
import { jobChannel } from './jobs.ts';
import type { Notifications } from '../../database/notifications.ts';

/** What a long poll waits for: a change of one job, or a pending job in one of these organizations. */
export type WatchTarget = { jobId: string } | { orgIds: readonly string[] };

/** Wakes the long polls that a change concerns. */
export type JobWatch = {
  /** @returns stops watching. */
  watch(target: WatchTarget, wake: () => void): () => void;
  /** Counts the changes. */
  open(target: WatchTarget): { turns: Cell<number>; close(): void };
  close(): void;
};

const keysOf = (target: WatchTarget): string[] =>
  'jobId' in target ? [`job ${target.jobId}`] : target.orgIds.map((orgId) => `queue ${orgId}`);

export function watchJobs(notifications: Notifications): JobWatch {
  const waiting = new Map<string, Set<() => void>>();
  const wakeAll = (key: string): void => {
    for (const wake of waiting.get(key) ?? []) wake();
  };
  const close = notifications.listen(jobChannel, (payload) => {
    if (payload === undefined) return [...waiting.keys()].forEach(wakeAll);
    const [jobId, orgId, state] = payload.split(' ');
    wakeAll(`job ${jobId}`);
    if (state === 'pending') wakeAll(`queue ${orgId}`);
  });
  const watch: JobWatch['watch'] = (target, wake) => {
    const keys = keysOf(target);
    for (const key of keys) waiting.set(key, (waiting.get(key) ?? new Set()).add(wake));
    return () => {
      for (const key of keys) {
        const wakes = waiting.get(key);
        wakes?.delete(wake);
        if (wakes?.size === 0) waiting.delete(key);
      }
    };
  };
  return {
    close,
    watch,
    open(target) {
      const turns = new Cell(0);
      return { turns, close: watch(target, () => turns.update((turn) => turn + 1)) };
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
export async function pollJobs<T>(
  { watch, target, clock, signal }: { watch: JobWatch; target: WatchTarget; clock: Clock; signal: AbortSignal },
  waitMs: number,
  probe: () => Promise<T | undefined>,
): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  return longPoll({
    probe,
    isNews: (found) => found !== undefined,
    watch: (wake) => watch.watch(target, wake),
    waitMs,
    pollMs,
    clock,
    signal,
  });
}
