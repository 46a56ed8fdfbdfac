import { isExpired, openDays } from './rules/log-days.ts';
import type { Database } from '../database/database.ts';
import {
  createLogDays,
  dropLogDay,
  forgetLogSizes,
  logDays,
  measureLogs,
  moveUndatedLines,
  oversizedLogs,
  trimLogs,
} from './store/part-log-days.ts';

/** Rows per step. */
const rowsPerStep = 2_000;
/** Lines that one step measures; it reads all of them. */
const measuredPerStep = 100_000;

/** Creates the partitions for current lines and drops expired ones. */
export async function* sweepLogDays(
  db: Database,
  { now, wall, keptDays }: { now: number; wall: number; keptDays: number },
): AsyncGenerator<number> {
  await createLogDays(db, openDays(wall));
  for (const day of await logDays(db)) {
    if (isExpired(day, keptDays, now)) yield (await dropLogDay(db, day)) ? 1 : 0;
  }
}

/** Moves lines that were stored before the table was partitioned. */
export async function* moveLines(db: Database, wall: number): AsyncGenerator<number> {
  for (;;) {
    const moved = await moveUndatedLines(db, wall, rowsPerStep);
    if (moved === 0) return;
    yield moved;
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
