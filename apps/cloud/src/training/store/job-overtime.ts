import type { Database } from '../../database/database.ts';
import { leasedStates } from './job-queue.ts';
import { moveOn } from './jobs.ts';

/** Added to the time limit of the attempt: for downloading images, uploading files, and stopping. */
const spareMs = 60 * 60_000;

/** Ends attempts that exceed their time limit. Runners enforce the limit; this covers runners that fail to. */
export class Overtime {
  /** When each state of each attempt was first seen, in monotonic time. A restart of the server resets it. */
  #since = new Map<string, number>();

  /** @returns the number of ended attempts. */
  async end(db: Database, steadyNow: number, now: number): Promise<number> {
    const rows = await db
      .selectFrom('trainingJob')
      .select(['orgId', 'id', 'attempt', 'state', 'phase', 'limits'])
      .where('state', 'in', leasedStates)
      .execute();
    const seen = new Map<string, number>();
    let ended = 0;
    for (const row of rows) {
      // Time in an engine's queue has no limit.
      if (row.phase === 'queued' && row.state === 'in_progress') continue;
      const key = `${row.id} ${row.attempt} ${row.state}`;
      const since = this.#since.get(key) ?? steadyNow;
      seen.set(key, since);
      const limitMs = (row.state === 'canceling' ? 0 : row.limits.wall_seconds * 1000) + spareMs;
      if (steadyNow - since < limitMs) continue;
      const message = `The runner still reported after ${Math.round(limitMs / 60_000)} minutes; the job may run for ${row.limits.wall_seconds} s.`;
      const event = { is: 'overdue', ofAttempt: row.attempt, message } as const;
      const { changed } = await moveOn(db, row, event, { actor: 'server', now });
      if (changed) ended++;
    }
    this.#since = seen;
    return ended;
  }
}
