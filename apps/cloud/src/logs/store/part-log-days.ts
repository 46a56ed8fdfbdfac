import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** Approximate bytes of a row on disk besides its texts. */
const rowBytes = 200;
const bytesOf = sql.raw(`pg_column_size(message) + coalesce(pg_column_size(rest), 0) + ${rowBytes}`);

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

/** Forgets the measured sizes of a day. */
export const forgetDaySizes = (db: Database, day: string): Promise<unknown> =>
  sql`delete from part_log_size where day = ${day}::date`.execute(db);
