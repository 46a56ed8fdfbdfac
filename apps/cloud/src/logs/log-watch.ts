import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/notifications.ts';
import { lastLogId } from './store/part-logs.ts';

/** Interval of reads without a notification, because one can be missed. */
const pollMs = 5_000;
/** Lines that come meanwhile are reported together. */
const pauseMs = 500;

/** Watches that one caller may have open: each reads all the time. */
const mostWatches = 32;

export class OpenWatches {
  readonly #open = new Map<string, number>();

  /** @returns ends the watch. @throws PlatformError TOO_MANY_REQUESTS */
  begin(callerId: string): () => void {
    const before = this.#open.get(callerId) ?? 0;
    if (before >= mostWatches)
      throw new PlatformError('TOO_MANY_REQUESTS', {
        limit: `this caller has ${mostWatches} watches of log lines open`,
      });
    this.#open.set(callerId, before + 1);
    return () => {
      const left = (this.#open.get(callerId) ?? 1) - 1;
      if (left > 0) this.#open.set(callerId, left);
      else this.#open.delete(callerId);
    };
  }
}

type WatchDeps = { db: Database; clock: Clock; notifications: Notifications };

/** Yields when it listens, and then whenever lines of one of the parts were stored. Ends with `signal`. */
export async function* storedLines(
  { db, clock, notifications }: WatchDeps,
  partIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<void> {
  const parts = new Set(partIds);
  const state = { woken: Promise.withResolvers<void>() };
  const unlisten = notifications.listen('part_log', (partId) => {
    if (partId === undefined || parts.has(partId)) state.woken.resolve();
  });
  const newest = async (): Promise<string> =>
    (await Promise.all(partIds.map((partId) => lastLogId(db, partId)))).join(' ');
  try {
    let last = await newest();
    yield;
    while (!signal.aborted) {
      const done = new AbortController();
      await Promise.race([state.woken.promise, clock.sleep(pollMs, AbortSignal.any([signal, done.signal]))]);
      done.abort();
      state.woken = Promise.withResolvers();
      const found = await newest();
      if (found === last || signal.aborted) continue;
      last = found;
      yield;
      await clock.sleep(pauseMs, signal);
    }
  } finally {
    unlisten();
  }
}
