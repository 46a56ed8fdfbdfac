import { openDays } from './rules/log-days.ts';
import type { Database } from '../database/database.ts';
import { createDays, daysOf, dropDay } from '../database/day-partitions.ts';
import { isExpired } from '../database/rules/days.ts';
import { forgetDaySizes, forgetLogSizes, measureLogs, oversizedLogs, trimLogs } from './store/part-log-days.ts';

/** Rows per step. */
const rowsPerStep = 2_000;
/** Lines that one step measures; it reads all of them. */
const measuredPerStep = 100_000;

/** Creates the partitions for current lines and drops expired ones. */
export async function* sweepLogDays(
  db: Database,
  { now, wall, keptDays }: { now: number; wall: number; keptDays: number },
): AsyncGenerator<number> {
  await createDays(db, 'part_log', openDays(wall));
  for (const day of await daysOf(db, 'part_log')) {
    if (isExpired(day, keptDays, now))
      yield (await dropDay(db, 'part_log', day, (trx) => forgetDaySizes(trx, day))) ? 1 : 0;
  }
}

/** Removes the oldest lines of machines with more than `limitBytes`. */
export async function* trimMachines(db: Database, limitBytes: number): AsyncGenerator<number> {
  while (await measureLogs(db, measuredPerStep)) yield 0;
  for (const { partId, excess } of await oversizedLogs(db, limitBytes)) {
    for (let left = excess; left > 0;) {
      const { count, bytes } = await trimLogs(db, partId, { bytes: left, limit: rowsPerStep });
      if (count === 0) {
        await forgetLogSizes(db, partId);
        break;
      }
      left -= bytes;
      yield count;
    }
  }
}
