import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type Database, at } from '../../database/database.ts';
import { partitionDay } from '../rules/log-days.ts';
import { isSameLine, lineText } from '../rules/same-line.ts';
import { arrayText, insertLogs, type NewLogRow } from './part-logs.ts';

type StoredLine = {
  partId: string;
  bootId: string;
  sequence: number;
  timeUs: number;
  level: string;
  loggerName: string;
  message: string;
  rest: unknown;
};

const keyOf = ({ partId, bootId, sequence }: Pick<NewLogRow, 'partId' | 'bootId' | 'sequence'>): string =>
  `${partId} ${sequence} ${bootId}`;

/**
 * Inserts lines. A line that is stored already is omitted. If a line comes under the identity of a different one, it is
 * stored under an ID made from its text, and counted: its sender continued a copied state, or one that was put back.
 */
export async function storeLines(db: Database, rows: readonly NewLogRow[], nowMs: number): Promise<void> {
  const stored = await insertLogs(db, rows, nowMs);
  if (stored === rows.length) return;
  const repeated = await findRepeated(db, rows, nowMs);
  for (const partId of new Set(repeated.map((row) => row.partId))) {
    const lines = await insertLogs(
      db,
      repeated.filter((row) => row.partId === partId),
      nowMs,
    );
    if (lines > 0) await countRepeated(db, { partId, lines, nowMs });
  }
}

const countRepeated = (db: Database, of: { partId: string; lines: number; nowMs: number }): Promise<unknown> =>
  db
    .updateTable('part')
    .set((eb) => ({ repeatedLines: eb('repeatedLines', '+', of.lines), repeatedLinesOn: at(of.nowMs) }))
    .where('id', '=', of.partId)
    .execute();

/** The lines among these whose identity belongs to a different line, each with an identity of its own. */
async function findRepeated(db: Database, rows: readonly NewLogRow[], nowMs: number): Promise<NewLogRow[]> {
  const numbered = rows.filter(({ bootId }) => bootId !== null);
  if (numbered.length === 0) return [];
  const known = new Map((await readStored(db, numbered, nowMs)).map((line) => [keyOf(line), line]));
  return numbered.flatMap((row) => {
    const line = known.get(keyOf(row));
    const own = { ...row, rest: row.rest === null ? null : (JSON.parse(row.rest) as unknown) };
    if (!line || isSameLine(line, own)) return [];
    const hash = createHash('sha256')
      .update(`${row.isArrivalTime ? '' : row.timeUs} ${lineText(own)}`)
      .digest('hex')
      .slice(0, 16);
    return [{ ...row, bootId: `${row.bootId}~${hash}` }];
  });
}

async function readStored(db: Database, rows: readonly NewLogRow[], nowMs: number): Promise<StoredLine[]> {
  const days = new Map(rows.map((row) => [row, partitionDay(row.timeUs / 1000, nowMs)]));
  const column = (of: (row: NewLogRow) => string | number | null): string => arrayText(rows, of);
  const line = sql`old.part_id, old.boot_id, old.sequence, old.level, old.logger_name, old.message, old.rest,
    extract(epoch from old.time) * 1000000 as time_us`;
  const wanted = sql`unnest(${column((row) => row.partId)}::uuid[], ${column((row) => row.bootId)}::text[],
    ${column((row) => row.sequence)}::bigint[], ${column((row) => days.get(row)?.day ?? null)}::date[],
    ${column((row) => (days.get(row)?.isOwn ? 1 : 0))}::integer[]) as new(part_id, boot_id, sequence, day, is_own)`;
  const isThat = sql`old.part_id = new.part_id and old.boot_id = new.boot_id and old.sequence = new.sequence`;
  const { rows: found } = await sql<StoredLine>`
    select ${line} from ${wanted} join part_log old on ${isThat} and old.day = new.day where is_own = 1
    union all select ${line} from ${wanted} join part_log old on ${isThat} where is_own = 0`.execute(db);
  return found.map((one) => ({ ...one, sequence: Number(one.sequence), timeUs: Number(one.timeUs) }));
}
