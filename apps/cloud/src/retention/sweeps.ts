import { errorText, type Clock, type Log } from '@platform/kit';
import type { RetentionClock } from './retention-clock.ts';

/** Deletes old data in short steps. */
export type Sweep = {
  /** Name of the deleted data in the log. */
  name: string;
  everyMs: number;
  /** Delay of the first sweep after the start of the server. */
  firstMs: number;
  /**
   * Each step deletes a bounded number of rows or files. @param now - retention time, ms since 1970. @returns the
   * number deleted.
   */
  steps(now: number): AsyncIterable<number>;
};

const tickMs = 60_000;
/** Pause between two steps, which leaves the database to other work. */
const pauseMs = { idle: 5, removed: 50 };

/** Runs all sweeps, one step after the other, until `signal`. A failed sweep is retried when it is next due. */
export async function runSweeps(
  { sweeps, time, clock, log }: { sweeps: readonly Sweep[]; time: RetentionClock; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const startedAt = clock.now();
  const due = new Map(sweeps.map((sweep) => [sweep, startedAt + sweep.firstMs]));
  while (!signal.aborted) {
    try {
      const now = await time.tick();
      for (const [sweep, dueAt] of due) {
        if (signal.aborted || clock.now() < dueAt) continue;
        due.set(sweep, clock.now() + sweep.everyMs);
        await runSweep({ sweep, now, clock, log }, signal);
      }
    } catch (error) {
      log.warn('retention waits for the database', { error: errorText(error) });
    }
    await clock.sleep(tickMs, signal);
  }
}

async function runSweep(
  { sweep, now, clock, log }: { sweep: Sweep; now: number; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const began = clock.now();
  let removed = 0;
  try {
    for await (const count of sweep.steps(now)) {
      removed += count;
      if (signal.aborted) break;
      await clock.sleep(count > 0 ? pauseMs.removed : pauseMs.idle, signal);
    }
  } catch (error) {
    log.warn('a retention sweep failed', { sweep: sweep.name, removed, error: errorText(error) });
    return;
  }
  if (removed > 0) log.info('retention', { removed: sweep.name, count: removed, ms: Math.round(clock.now() - began) });
}
