import type { Database } from '../../database/database.ts';
import { leasedStates } from './job-queue.ts';
import { moveOn } from './jobs.ts';

/** Added to the time limit of the attempt: for downloading images, uploading files, and stopping. */
const marginMs = 60 * 60_000;

/** Ends attempts that exceed their time limit. Runners enforce the limit; this covers runners that fail to. */
export type OverdueAttempts = {
  /** @returns the number of ended attempts. */
  end(steadyNow: number, now: number): Promise<number>;
};

export function overdueAttempts(db: Database): OverdueAttempts {
  /** When each state of each attempt was first seen, in monotonic time. A restart of the server resets it. */
  const firstSeen = new Map<string, number>();
  return {
    async end(steadyNow, now) {
      const rows = await db
        .selectFrom('trainingJob')
        .select(['orgId', 'id', 'attempt', 'state', 'phase', 'limits'])
        .where('state', 'in', leasedStates)
        .execute();
      // Time in an engine's queue has no limit.
      const limited = rows.filter(({ phase, state }) => phase !== 'queued' || state !== 'in_progress');
      const keys = new Set(limited.map(keyOf));
      for (const key of firstSeen.keys()) if (!keys.has(key)) firstSeen.delete(key);
      let ended = 0;
      for (const row of limited) {
        const key = keyOf(row);
        const since = firstSeen.get(key) ?? steadyNow;
        firstSeen.set(key, since);
        const limitMs = (row.state === 'canceling' ? 0 : row.limits.wall_seconds * 1000) + marginMs;
        if (steadyNow - since < limitMs) continue;
        const message = `The runner still reported after ${Math.round(limitMs / 60_000)} minutes; the job may run for ${row.limits.wall_seconds} s.`;
        const event = { is: 'overdue', ofAttempt: row.attempt, message } as const;
        const { changed } = await moveOn(db, row, event, { actor: 'server', now });
        if (changed) ended++;
      }
      return ended;
    },
  };
}

const keyOf = ({ id, attempt, state }: { id: string; attempt: number; state: string }): string =>
  `${id} ${attempt} ${state}`;
