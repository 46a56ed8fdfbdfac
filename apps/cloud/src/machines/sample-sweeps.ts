import type { Database } from '../database/database.ts';
import { createDays, daysOf, dropDay } from '../database/day-partitions.ts';
import { dayAfter, dayOf, isExpired } from '../database/rules/days.ts';

/** Creates the partitions of today and tomorrow and drops expired ones. */
export async function* sweepSampleDays(
  db: Database,
  { now, wall, keptDays }: { now: number; wall: number; keptDays: number },
): AsyncGenerator<number> {
  const today = dayOf(wall);
  await createDays(db, 'part_sample', [today, dayAfter(today)]);
  for (const day of await daysOf(db, 'part_sample')) {
    if (isExpired(day, keptDays, now)) yield (await dropDay(db, 'part_sample', day)) ? 1 : 0;
  }
}
