import { sql } from 'kysely';
import { partitionDay } from '../rules/log-days.ts';
import { type Database, sqlState } from '../../database/database.ts';

/** Arbitrary, but the same in every version: only one process at a time creates partitions. */
const lockKey = 7_236_511;
const tableOf = (day: string): string => `part_log_${day.replaceAll('-', '')}`;
/** Approximate bytes of a row on disk besides its texts. */
const rowBytes = 200;
const bytesOf = sql.raw(`pg_column_size(message) + coalesce(pg_column_size(rest), 0) + ${rowBytes}`);

/** Creates missing partitions of these days. Each is attached when complete, so that writers do not wait. */
export async function createLogDays(db: Database, days: Iterable<string>): Promise<void> {
  const wanted = [...days];
  const existing = new Set(await logDays(db));
  for (const day of wanted.filter((one) => !existing.has(one))) {
    await db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(${lockKey})`.execute(trx);
      if ((await logDays(trx)).includes(day)) return;
      const [table, from] = [sql.ref(tableOf(day)), sql.lit(day)];
      await sql`create table ${table} (like part_log including all)`.execute(trx);
      const next = sql.lit(new Date(Date.parse(day) + 24 * 3_600_000).toISOString().slice(0, 10));
      await sql`alter table part_log attach partition ${table} for values from (${from}) to (${next})`.execute(trx);
    });
  }
}

/** Days that have a partition, oldest first. */
export async function logDays(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
     where inhparent = 'part_log'::regclass order by 1`.execute(db);
  return rows.map(({ name }) => name.replace(/^part_log_(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3'));
}

const lockNotAvailable = '55P03';

/** Drops a day. Gives up if a long read holds its lock; the next sweep retries. @returns whether it was dropped. */
export async function dropLogDay(db: Database, day: string): Promise<boolean> {
  try {
    await db.transaction().execute(async (trx) => {
      // Writers queue behind this lock, so the wait for it must be short.
      await sql`set local lock_timeout = '1s'`.execute(trx);
      await sql`drop table if exists ${sql.ref(tableOf(day))}`.execute(trx);
      await sql`delete from part_log_size where day = ${day}::date`.execute(trx);
    });
    return true;
  } catch (error) {
    if (sqlState(error) === lockNotAvailable) return false;
    throw error;
  }
}

/** Moves some lines from before the partitioning. @returns how many. */
export const moveUndatedLines = async (db: Database, nowMs: number, limit: number): Promise<number> => {
  const { rows } = await sql<{ id: number; partId: string; ms: number }>`
    select part_id, id, extract(epoch from time) * 1000 as ms from part_log_undated order by part_id, id limit ${limit}`.execute(
    db,
  );
  if (rows.length === 0) return 0;
  const days = rows.map(({ ms }) => partitionDay(Number(ms), nowMs).day);
  await createLogDays(db, new Set(days));
  await sql`
    with line as (
      select * from unnest(${rows.map((row) => row.partId)}::uuid[], ${rows.map((row) => row.id)}::bigint[], ${days}::date[])
        line(part_id, id, day)
    ), gone as (
      delete from part_log_undated old using line where old.part_id = line.part_id and old.id = line.id
      returning old.*, line.day
    ), moved as (
      insert into part_log (id, org_id, part_id, day, boot_id, sequence, time, level, host, logger_name, message, rest)
      select id, org_id, part_id, day, boot_id, sequence, time, level, host, logger_name, message, rest from gone
      on conflict do nothing
      returning part_id, day, ${bytesOf} as bytes
    )
    insert into part_log_size (part_id, day, bytes)
    select part_id, day, sum(bytes) from moved group by part_id, day
    on conflict (part_id, day) do update set bytes = part_log_size.bytes + excluded.bytes`.execute(db);
  return rows.length;
};

/** Measures the lines that arrived since the last call. @returns whether there may be more. */
export const measureLogs = (db: Database, limit: number): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ upTo: number; last: number }>`
      select up_to, (select last_value from part_log_line_id) as last from part_log_measured for update`.execute(trx);
    const [{ upTo, last } = { upTo: 0, last: 0 }] = rows;
    const next = Math.min(last, upTo + limit);
    await sql`
      insert into part_log_size (part_id, day, bytes)
      select part_id, day, sum(${bytesOf}) from part_log where id > ${upTo} and id <= ${next} group by part_id, day
      on conflict (part_id, day) do update set bytes = part_log_size.bytes + excluded.bytes`.execute(trx);
    await sql`update part_log_measured set up_to = ${next}`.execute(trx);
    return next < last;
  });

/** Machines whose lines take more than `limitBytes`, each with its largest part. */
export async function oversizedLogs(db: Database, limitBytes: number): Promise<{ partId: string; excess: number }[]> {
  const { rows } = await sql<{ partId: string; excess: number }>`
    select distinct on (machine_id) part_id, (total - ${limitBytes})::bigint as excess from (
      select size.part_id, part.machine_id, sum(size.bytes) as bytes,
             sum(sum(size.bytes)) over (partition by part.machine_id) as total
        from part_log_size size join part on part.id = size.part_id group by size.part_id, part.machine_id
    ) machine where total > ${limitBytes} order by machine_id, bytes desc`.execute(db);
  return rows;
}

/** Removes the oldest lines of a part: about `bytes`, at most `limit` lines. @returns their number and bytes. */
export async function trimLogs(
  db: Database,
  partId: string,
  { bytes: wanted, limit }: { bytes: number; limit: number },
): Promise<{ count: number; bytes: number }> {
  const { rows } = await sql<{ count: number; bytes: number }>`
    with oldest as (
      select id, day, ${bytesOf} as bytes from part_log where part_id = ${partId} order by id limit ${limit}
    ), old as (
      select id, day from (select id, day, sum(bytes) over (order by id) - bytes as before from oldest) line
       where before < ${wanted}
    ), gone as (
      delete from part_log line using old where line.part_id = ${partId} and line.id = old.id and line.day = old.day
      returning line.day, ${sql.raw(`pg_column_size(line.message) + coalesce(pg_column_size(line.rest), 0) + ${rowBytes}`)} as bytes
    ), less as (
      update part_log_size size set bytes = greatest(0, size.bytes - day.bytes)
        from (select day, sum(bytes) as bytes from gone group by day) day
       where size.part_id = ${partId} and size.day = day.day
    )
    select count(*)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes from gone`.execute(db);
  return rows[0] ?? { count: 0, bytes: 0 };
}

/** Resets the measured sizes of a part that has no lines left. */
export const forgetLogSizes = async (db: Database, partId: string): Promise<void> => {
  await sql`delete from part_log_size where part_id = ${partId}`.execute(db);
};
