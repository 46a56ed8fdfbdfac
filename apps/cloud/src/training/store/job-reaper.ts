import { errorText, type Clock, type Log } from '@platform/kit';
import type { SteadyTime } from '../../process/steady-time.ts';
import type { Database } from '../../database/database.ts';
import { expireLeases, renewLeases } from './job-queue.ts';
import { overdueAttempts } from './overdue-attempts.ts';

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
