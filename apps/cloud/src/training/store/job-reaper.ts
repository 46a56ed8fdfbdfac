import { type Clock, errorText, type Log } from '@platform/kit';
import type { SteadyTime } from '../../process/steady-time.ts';
import type { Database } from '../../database/database.ts';
import { expireLeases, leasedStates, renewLeases } from './job-queue.ts';
import { moveOn } from './jobs.ts';

const everyMs = 1_000;
/** After a pause of this length (stopped, starved, without its database), runners could not report to this server. */
const awayMs = 5_000;

/** Ends leases of silent runners, and overdue attempts. Ends with `signal`. */
export async function reapJobs(
  { db, clock, steady, log }: { db: Database; clock: Clock; steady: SteadyTime; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let lookedAt = -Infinity;
  const attempts = overdueAttempts(db);
  while (!signal.aborted) {
    try {
      // A pause of the server must not cost runners their leases.
      if (clock.now() - lookedAt > awayMs) await renewLeases(db, steady.now());
      const lost = await expireLeases(db, steady.now(), clock.wall());
      lookedAt = clock.now();
      if (lost > 0) log.warn('runners fell silent', { jobs: lost });
      const overdue = await attempts.end(steady.now(), clock.wall());
      if (overdue > 0) log.warn('jobs were ended: their runners went on for too long', { jobs: overdue });
    } catch (error) {
      // While the server cannot write, it cannot store reports of runners either.
      lookedAt = -Infinity;
      log.warn('leases could not be checked', { error: errorText(error) });
    }
    await clock.sleep(everyMs, signal);
  }
}

/** Added to the time limit of the attempt: for downloading images, uploading files, and stopping. */
const marginMs = 60 * 60_000;

/** Ends attempts that exceed their time limit. Runners enforce the limit; this covers runners that fail to. */
type OverdueAttempts = {
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
