import { type RawBuilder, sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { levelNames, type LogLevel } from '@platform/contract/logs/levels';
import type { LogTerm } from '@platform/contract/logs/query';
import { at, type Database, sqlState, type Trx } from '../../database/database.ts';
import { type Bounded, pageBytes, readBounded } from '../../rpc/rules/answer-bounds.ts';
import type { LogRow } from './part-logs.ts';
import { databaseExpression } from '../log-expression.ts';

/** A place between lines: the time of a line in UTC, exact to the microsecond, and its ID. */
export type LinePlace = { time: string; id: number };
export type FoundLine = LogRow & { partId: string; place: LinePlace };

export type LogSpan = {
  partIds: readonly string[];
  terms: readonly LogTerm[];
  /** ms since 1970, the first one included. */
  from?: number;
  until?: number;
};
export type LogSearch = LogSpan & { isAscending: boolean; after?: LinePlace; limit: number };

/** Runs statements for at most this time; the rest of a search has what is left of it. */
export type SearchTime = { limitMs: number; leftMs: () => number };

/** Rows per statement, low enough even if all are of maximum length. */
const rowsAtOnce = 250;
const canceled = '57014';
const tooComplex = '2201B';

/** Lines by time. @throws PlatformError LOG_SEARCH_TOO_LONG, LOG_EXPRESSION_NOT_VALID */
export function searchLines(db: Database, search: LogSearch, time: SearchTime): Promise<Bounded<FoundLine>> {
  const bounds = { rows: search.limit, bytes: pageBytes, atOnce: rowsAtOnce, size: sizeOf };
  return readBounded<FoundLine>(bounds, (last, limit) =>
    limited(db, time, (trx) => readSlice(trx, { ...search, limit, ...(last && { after: last.place }) })),
  );
}

const sizeOf = ({ message, rest }: FoundLine): number =>
  300 + 3 * message.length + (rest === null ? 0 : 3 * JSON.stringify(rest).length);

/** Lines within the span by interval and level. @throws PlatformError LOG_SEARCH_TOO_LONG, LOG_EXPRESSION_NOT_VALID */
export const countLines = (
  db: Database,
  search: LogSpan,
  { intervalMs, time }: { intervalMs: number; time: SearchTime },
): Promise<{ start: number; level: LogLevel; lines: number }[]> =>
  limited(db, time, async (trx) => {
    const { rows } = await sql<{ start: number; level: LogLevel; lines: number }>`
      select date_bin(${`${intervalMs} milliseconds`}::interval, time, to_timestamp(0)) as start, ${levelColumn} as level,
             count(*) as lines
        from part_log where part_id = any(${[...search.partIds]}::uuid[]) and ${within(search)}
       group by 1, 2 order by 1`.execute(trx);
    return rows;
  });

function within({ from, until, terms }: LogSpan): RawBuilder<boolean> {
  const bounds = [
    ...(from === undefined ? [] : [sql`time >= ${at(from)}`]),
    ...(until === undefined ? [] : [sql`time < ${at(until)}`]),
    matchesTerms(terms),
  ];
  return sql<boolean>`${sql.join(bounds, sql` and `)}`;
}

/** Each part is read by its index; their lines are merged. */
async function readSlice(trx: Trx, search: LogSearch): Promise<FoundLine[]> {
  const { isAscending, after, limit } = search;
  const order = isAscending ? sql`time, id` : sql`time desc, id desc`;
  const beyond = isAscending ? sql`>` : sql`<`;
  const start = after
    ? sql`(time, id) ${beyond} (${after.time}::timestamp at time zone 'UTC', ${after.id}::bigint)`
    : sql`true`;
  const { rows } = await sql<LogRow & { partId: string; utc: string }>`
    select part.id as part_id, line.id, boot_id, sequence, level, host, logger_name, message, rest,
           extract(epoch from time) * 1000000 as time_us,
           to_char(time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as utc
      from unnest(${[...search.partIds]}::uuid[]) as part(id) cross join lateral (
        select id, boot_id, sequence, level, host, logger_name, message, rest, time from part_log
         where part_id = part.id and ${start} and ${within(search)} order by ${order} limit ${limit}
      ) line order by ${isAscending ? sql`time, line.id` : sql`time desc, line.id desc`} limit ${limit}`.execute(trx);
  return rows.map(({ utc, ...row }) => ({
    ...row,
    timeUs: Number(row.timeUs),
    place: { time: utc, id: row.id },
  }));
}

/** The database ends the statement at the limit, an expression included. */
async function limited<T>(db: Database, time: SearchTime, read: (trx: Trx) => Promise<T>): Promise<T> {
  const leftMs = Math.floor(time.leftMs());
  const tooLong = (error?: unknown) =>
    new PlatformError('LOG_SEARCH_TOO_LONG', { seconds: time.limitMs / 1_000 }, error);
  if (leftMs <= 0) throw tooLong();
  try {
    return await db.transaction().execute(async (trx) => {
      await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(trx);
      return await read(trx);
    });
  } catch (error) {
    if (sqlState(error) === canceled) throw tooLong(error);
    if (sqlState(error) !== tooComplex) throw error;
    const problem = 'the database cannot compile it: it is too complex';
    throw new PlatformError('LOG_EXPRESSION_NOT_VALID', { expression: 'of the query', problem }, error);
  }
}

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, (found) => `\\${found}`);
const containing = (text: string): string => `%${escapeLike(text)}%`;

/** Names of all levels but info, which stands for unknown ones, too. */
const otherNames = (['error', 'warn', 'debug'] as const).flatMap((level) => [...levelNames[level]]);

/** The level of a line, by its name in the column `level`. */
const levelColumn = sql`case ${sql.join(
  (['error', 'warn', 'debug'] as const).map(
    (level) => sql`when level in (${sql.join(levelNames[level].map((name) => sql.lit(name)))}) then ${sql.lit(level)}`,
  ),
  sql` `,
)} else 'info' end`;

function ofLevels(levels: readonly LogLevel[]): RawBuilder<boolean> {
  const names = levels.flatMap((level) => (level === 'info' ? [] : [...levelNames[level]]));
  const named = sql<boolean>`level = any(${names}::text[])`;
  return levels.includes('info') ? sql<boolean>`(${named} or level <> all(${otherNames}::text[]))` : named;
}

/** Fields are objects with one key, or zap's {Key, Type, String, Integer, Interface}; zap's type 4 is a boolean. */
function ofField({ name, text, isWhole }: { name: string; text: string; isWhole: boolean }): RawBuilder<boolean> {
  const isIt = (value: RawBuilder<unknown>) =>
    isWhole ? sql`${value} = ${text}` : sql`${value} ilike ${containing(text)}`;
  const zap = sql`coalesce(case when field->>'Type' = '4' then (field->>'Integer' = '1')::text end,
    nullif(field->>'String', ''), field->>'Interface', field->>'Integer')`;
  return sql<boolean>`exists (select from jsonb_array_elements(rest->'fields') as field
    where (${isIt(sql`(field->>${name}::text)`)}) or (field->>'Key' = ${name} and (${isIt(zap)})))`;
}

function ofTerm(term: LogTerm): RawBuilder<boolean> {
  switch (term.is) {
    case 'text': {
      const like = containing(term.text);
      return sql<boolean>`(message ilike ${like} or logger_name ilike ${like} or rest->>'fields' ilike ${like})`;
    }
    case 'expression': {
      const expression = databaseExpression(term.source);
      return term.ignoresCase ? sql<boolean>`message ~* ${expression}` : sql<boolean>`message ~ ${expression}`;
    }
    case 'level':
      return ofLevels(term.levels);
    case 'logger':
      return term.isWhole
        ? sql<boolean>`logger_name = ${term.text}`
        : sql<boolean>`logger_name ilike ${containing(term.text)}`;
    case 'host':
      return term.isWhole ? sql<boolean>`host = ${term.text}` : sql<boolean>`host ilike ${containing(term.text)}`;
    case 'boot':
      return sql<boolean>`boot_id like ${`${escapeLike(term.text)}%`}`;
    case 'field':
      return ofField(term);
  }
}

/**
 * Whether a line of `part_log` matches all terms.
 *
 * @throws PlatformError LOG_EXPRESSION_NOT_VALID
 */
const matchesTerms = (terms: readonly LogTerm[]): RawBuilder<boolean> =>
  terms.length === 0
    ? sql<boolean>`true`
    : sql<boolean>`${sql.join(
        terms.map((term) => (term.isNegated ? sql`not coalesce(${ofTerm(term)}, false)` : ofTerm(term))),
        sql` and `,
      )}`;
