// Tables that grow with time: one partition for each day, which is dropped as a whole when it expires.
import { sql } from 'kysely';
import { type Database, sqlState, type Trx } from './database.ts';
import { dayAfter } from './rules/days.ts';

/** Each has a column `day`. */
export type DayTable = 'part_log' | 'part_sample';

/** Arbitrary, but the same in every version: only one process at a time creates partitions. */
const lockKey = 7_236_511;
const noPartition = '23514';
const lockNotAvailable = '55P03';

const nameOf = (table: DayTable, day: string): string => `${table}_${day.replaceAll('-', '')}`;

/** Days that have a partition, oldest first. */
export async function daysOf(db: Database, table: DayTable): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
     where inhparent = ${table}::regclass order by 1`.execute(db);
  return rows.map(({ name }) => name.slice(-8).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3'));
}

/** Creates missing partitions of these days. Each is attached when complete, so that writers do not wait. */
export async function createDays(db: Database, table: DayTable, days: Iterable<string>): Promise<void> {
  const wanted = [...days];
  const existing = new Set(await daysOf(db, table));
  for (const day of wanted.filter((one) => !existing.has(one))) {
    await db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(${lockKey})`.execute(trx);
      if ((await daysOf(trx, table)).includes(day)) return;
      const [parent, partition] = [sql.ref(table), sql.ref(nameOf(table, day))];
      await sql`create table ${partition} (like ${parent} including all)`.execute(trx);
      await sql`alter table ${parent} attach partition ${partition}
        for values from (${sql.lit(day)}) to (${sql.lit(dayAfter(day))})`.execute(trx);
    });
  }
}

/**
 * Drops a day. Gives up if a long read holds its lock; the next sweep retries.
 *
 * @param also - what goes with it.
 * @returns whether it was dropped.
 */
export async function dropDay(
  db: Database,
  table: DayTable,
  day: string,
  also?: (trx: Trx) => Promise<unknown>,
): Promise<boolean> {
  try {
    await db.transaction().execute(async (trx) => {
      // Writers queue behind this lock, so the wait for it must be short.
      await sql`set local lock_timeout = '1s'`.execute(trx);
      await sql`drop table if exists ${sql.ref(nameOf(table, day))}`.execute(trx);
      await also?.(trx);
    });
    return true;
  } catch (error) {
    if (sqlState(error) === lockNotAvailable) return false;
    throw error;
  }
}

/** Writes rows of these days. */
export type DayWriter = <T>(days: Iterable<string>, write: () => Promise<T>) => Promise<T>;

/** Creates the partitions of arriving rows, in case no sweep has created them or a sweep has dropped them. */
export function dayWriter(db: Database, table: DayTable): DayWriter {
  const known = new Set<string>();
  return async (days, write) => {
    const wanted = new Set(days);
    if ([...wanted].some((day) => !known.has(day))) {
      await createDays(db, table, wanted);
      for (const day of wanted) known.add(day);
    }
    try {
      return await write();
    } catch (error) {
      // The partition was dropped since. If the statement has another error, the retry fails, too.
      known.clear();
      if (sqlState(error) !== noPartition) throw error;
      await createDays(db, table, wanted);
      return await write();
    }
  };
}
