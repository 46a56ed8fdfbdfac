import { errorText, type Clock, type Log } from '@platform/kit';
import type { Database } from './database.ts';
import { expireLogs } from './job-reports.ts';
import { expireLeases, renewLeases } from './jobs.ts';

const everyMs = 1_000;
const logsEveryMs = 60 * 60_000;
/** Logs of a job are kept so long after its end. */
export const logLifeMs = 7 * 24 * 60 * 60_000;

/** Takes back leases whose runner fell silent, and removes old logs. Ends with `signal`. */
export async function reapJobs(
  { db, clock, log }: { db: Database; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let isFirst = true;
  let logsDue = 0;
  while (!signal.aborted) {
    try {
      // Runners could not report while this server was down: that is not their loss.
      if (isFirst) await renewLeases(db, clock.wall());
      isFirst = false;
      const lost = await expireLeases(db, clock.wall());
      if (lost > 0) log.warn('runners fell silent', { jobs: lost });
      if (clock.now() >= logsDue) {
        await expireLogs(db, clock.wall() - logLifeMs);
        logsDue = clock.now() + logsEveryMs;
      }
    } catch (error) {
      log.warn('leases could not be checked', { error: errorText(error) });
    }
    await clock.sleep(everyMs, signal);
  }
}
