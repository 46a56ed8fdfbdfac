import type { Database } from '../../database/database.ts';
import { leasedStates } from './job-queue.ts';
import { moveOn } from './jobs.ts';

/** Beside the time limit of the run itself: for fetching pictures, for sending files, and for stopping. */
const spareMs = 60 * 60_000;

/** Ends attempts whose runner reports for ever. Runners hold their jobs to their time; this is for those that don't. */
export class Overtime {
  /** When each stretch of each attempt was seen first, in steady time. After a start of the server they begin anew. */
  #since = new Map<string, number>();

  /** @returns how many were ended. */
  async end(db: Database, steadyNow: number, now: number): Promise<number> {
    const rows = await db
      .selectFrom('trainingJob')
      .select(['orgId', 'id', 'attempt', 'state', 'phase', 'limits'])
      .where('state', 'in', leasedStates)
      .execute();
    const seen = new Map<string, number>();
    let ended = 0;
    for (const row of rows) {
      // An engine's queue may be as long as it likes.
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
