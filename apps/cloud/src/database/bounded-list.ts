import { type Expression, sql } from 'kysely';
import { type Bounded, type Bounds, readBounded } from '../rpc/rules/answer-bounds.ts';
import type { Database } from './database.ts';

/**
 * The first rows of a query, in its order, within the limits. One statement reads a short list. A longer list is read
 * in slices from a cursor, as a snapshot, and only up to the limits.
 */
export async function boundedList<T>(db: Database, query: Expression<T>, of: Bounds<T>): Promise<Bounded<T>> {
  const limit = Math.min(of.atOnce, of.rows + 1);
  const { rows: first } = await sql<T>`select * from (${query}) listed limit ${limit}`.execute(db);
  const start = await readBounded(of, (last) => Promise.resolve(last === undefined ? first : []));
  if (start.isCut || first.length < limit) return start;
  return db.transaction().execute(async (trx) => {
    await sql`declare listed no scroll cursor for (${query})`.execute(trx);
    return readBounded(of, async (_, next) => {
      const { rows } = await sql<T>`fetch forward ${sql.lit(next)} from listed`.execute(trx);
      return rows;
    });
  });
}
