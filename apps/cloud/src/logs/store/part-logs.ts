import { sql } from 'kysely';
import { partitionDay } from '../rules/log-days.ts';
import { type Database, at } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

export type LogRow = Omit<Row<'partLog'>, 'orgId' | 'partId' | 'day' | 'time'> & {
  /** Microseconds since 1970. */
  timeUs: number;
};
export type NewLogRow = Omit<LogRow, 'id' | 'rest'> & {
  partId: string;
  /** The line has no time of its own. */
  isArrivalTime?: boolean;
  /** JSON text. */
  rest: string | null;
};

/**
 * Inserts lines of many senders in one statement. Omits lines whose identity is stored already and lines of deleted
 * parts. Notifies the tails of each part once.
 *
 * @returns how many lines were inserted.
 */
export async function insertLogs(db: Database, rows: readonly NewLogRow[], nowMs: number): Promise<number> {
  const days = new Map(rows.map((row) => [row, partitionDay(row.timeUs / 1000, nowMs)]));
  const column = (of: (row: NewLogRow) => string | number | null): string => arrayText(rows, of);
  const { rows: changed } = await sql<{ stored: number }>`
    with known as materialized (
      select id, org_id from part where id = any(${arrayText([...new Set(rows.map((row) => row.partId))], (id) => id)}::uuid[]) for key share
    ), stored as (
      insert into part_log (org_id, part_id, day, boot_id, sequence, time, level, host, logger_name, message, rest)
      select known.org_id, part_id, day, boot_id, sequence, to_timestamp(time_us / 1000000), level, host, logger_name, message, rest
      from unnest(${column((row) => row.partId)}::uuid[], ${column((row) => row.bootId)}::text[],
        ${column((row) => row.sequence)}::bigint[], ${column((row) => row.timeUs)}::double precision[],
        ${column((row) => row.level)}::text[], ${column((row) => row.host)}::text[], ${column((row) => row.loggerName)}::text[],
        ${column((row) => row.message)}::text[], ${column((row) => row.rest)}::jsonb[],
        ${column((row) => days.get(row)?.day ?? null)}::date[], ${column((row) => (days.get(row)?.isOwn ? 1 : 0))}::integer[])
        with ordinality as new(part_id, boot_id, sequence, time_us, level, host, logger_name, message, rest, day, is_own, n)
      join known on known.id = part_id
      -- It may be stored on the day of an earlier arrival.
      where is_own = 1 or not exists (select from part_log old where old.part_id = new.part_id
              and old.boot_id = new.boot_id and old.sequence = new.sequence)
      order by n
      on conflict (part_id, boot_id, sequence, day) do nothing
      returning part_id)
    select pg_notify('part_log', part_id::text), stored
    from (select part_id, count(*)::integer as stored from stored group by part_id) changed`.execute(db);
  return changed.reduce((sum, { stored }) => sum + stored, 0);
}

/** A PostgreSQL array literal. The driver's own conversion takes three times as long, which matters for log lines. */
export function arrayText<T>(values: readonly T[], of: (value: T) => string | number | null): string {
  const items = values.map((value) => {
    const item = of(value);
    if (item === null) return 'NULL';
    if (typeof item === 'number') return String(item);
    return `"${/["\\]/.test(item) ? item.replace(/["\\]/g, '\\$&') : item}"`;
  });
  return `{${items.join(',')}}`;
}

export type LogQuery = {
  partId: string;
  /** Lower-case level names; empty: all. */
  levels?: readonly string[];
  /** Text that message or logger name must contain, ignoring case. */
  filter?: string;
  /** Logger name. */
  source?: string;
  /** ms since 1970. */
  from?: number;
  until?: number;
  isAscending: boolean;
  /** Only rows after this ID, in the requested order. */
  after?: number;
  limit: number;
};

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, (found) => `\\${found}`);

/** Below the 4 MiB that gRPC clients accept in one message. */
const pageBytes = 3 * 2 ** 20;
/** Rows per read, low enough even if all are of maximum length. */
const sliceRows = 250;

/** Lines in order of arrival. Returns fewer than the limit if they are long, but at least one if there is any. */
export async function readLogs(db: Database, { limit, ...query }: LogQuery): Promise<LogRow[]> {
  const found: LogRow[] = [];
  for (let bytes = 0; found.length < limit;) {
    const last = found.at(-1);
    const wanted = Math.min(sliceRows, limit - found.length);
    const slice = await readSlice(db, { ...query, ...(last && { after: last.id }), limit: wanted });
    for (const { size, ...row } of slice) {
      bytes += size;
      if (bytes > pageBytes && found.length > 0) return found;
      found.push(row);
    }
    if (slice.length < wanted) break;
  }
  return found;
}

async function readSlice(db: Database, query: LogQuery): Promise<(LogRow & { size: number })[]> {
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
      sql<number>`octet_length(message) + coalesce(octet_length(rest::text), 0) + 300`.as('size'),
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

/** ID of the newest line; 0: none. */
export const lastLogId = async (db: Database, partId: string): Promise<number> =>
  (
    await db
      .selectFrom('partLog')
      .select('id')
      .where('partId', '=', partId)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.id ?? 0;
