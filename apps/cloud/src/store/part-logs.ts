import { sql } from 'kysely';
import { type Database, at } from './database.ts';
import type { JsonObject } from './schema.ts';

export type NewLogRow = {
  orgId: string;
  partId: string;
  bootId: string | null;
  sequence: number | null;
  /** Microseconds since 1970. */
  timeUs: number;
  level: string;
  host: string;
  loggerName: string;
  message: string;
  rest: JsonObject | null;
};
export type LogRow = {
  id: number;
  bootId: string | null;
  sequence: number | null;
  timeUs: number;
  level: string;
  host: string;
  loggerName: string;
  message: string;
  rest: JsonObject | null;
};

/** One statement for many senders; what was stored before is left out. Notifies the tails of each part once. */
export async function insertLogs(db: Database, rows: readonly NewLogRow[]): Promise<void> {
  const column = <K extends keyof NewLogRow>(name: K): NewLogRow[K][] => rows.map((row) => row[name]);
  await sql`
    with stored as (
      insert into part_log (org_id, part_id, boot_id, sequence, time, level, host, logger_name, message, rest)
      select org_id, part_id, boot_id, sequence, to_timestamp(time_us / 1000000), level, host, logger_name, message, rest
      from unnest(${column('orgId')}::uuid[], ${column('partId')}::uuid[], ${column('bootId')}::text[], ${column('sequence')}::bigint[],
        ${column('timeUs')}::double precision[], ${column('level')}::text[], ${column('host')}::text[], ${column('loggerName')}::text[],
        ${column('message')}::text[], ${rows.map((row) => row.rest && JSON.stringify(row.rest))}::jsonb[])
        with ordinality as new(org_id, part_id, boot_id, sequence, time_us, level, host, logger_name, message, rest, n)
      where exists (select from part where part.id = new.part_id)
      order by n
      on conflict (part_id, boot_id, sequence) do nothing
      returning part_id)
    select pg_notify('part_log', part_id::text) from (select distinct part_id from stored) changed`.execute(db);
}

export type LogQuery = {
  partId: string;
  /** Lower-case level names; empty: all. */
  levels?: readonly string[];
  /** Text that message or logger name must contain, without regard to case. */
  filter?: string;
  /** Logger name. */
  source?: string;
  /** ms since 1970. */
  from?: number;
  until?: number;
  isAscending: boolean;
  /** Rows behind this id, in the order asked for. */
  after?: number;
  limit: number;
};

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, (found) => `\\${found}`);

/** In the order in which they arrived. */
export async function readLogs(db: Database, query: LogQuery): Promise<LogRow[]> {
  let rows = db
    .selectFrom('partLog')
    .select([
      'id',
      'bootId',
      'sequence',
      'level',
      'host',
      'loggerName',
      'message',
      'rest',
      sql<number>`extract(epoch from time) * 1000000`.as('timeUs'),
    ])
    .where('partId', '=', query.partId)
    .orderBy('id', query.isAscending ? 'asc' : 'desc')
    .limit(query.limit);
  if (query.levels && query.levels.length > 0) rows = rows.where('level', 'in', query.levels);
  if (query.filter) {
    const like = `%${escapeLike(query.filter)}%`;
    rows = rows.where((eb) => eb.or([eb('message', 'ilike', like), eb('loggerName', 'ilike', like)]));
  }
  if (query.source) rows = rows.where('loggerName', '=', query.source);
  if (query.from !== undefined) rows = rows.where('time', '>=', at(query.from));
  if (query.until !== undefined) rows = rows.where('time', '<=', at(query.until));
  if (query.after !== undefined) rows = rows.where('id', query.isAscending ? '>' : '<', query.after);
  return (await rows.execute()).map((row) => ({ ...row, timeUs: Number(row.timeUs) }));
}

/** Id of the newest line, 0: none. */
export const lastLogId = async (db: Database, partId: string): Promise<number> =>
  (
    await db
      .selectFrom('partLog')
      .select((eb) => eb.fn.max('id').as('id'))
      .where('partId', '=', partId)
      .executeTakeFirst()
  )?.id ?? 0;
