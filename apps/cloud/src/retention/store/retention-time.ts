import { sql } from 'kysely';
import { at, type Database } from '../../database/database.ts';

/** The stored retention time, in ms since 1970; undefined: none is stored yet. */
export const readRetentionTime = async (db: Database): Promise<number | undefined> =>
  (await db.selectFrom('retentionTime').select('at').executeTakeFirst())?.at;

/** @param ms - ms since 1970. */
export async function writeRetentionTime(db: Database, ms: number): Promise<void> {
  const row = { at: at(ms) };
  await db
    .insertInto('retentionTime')
    .values({ ...row, latest: at(ms) })
    .onConflict((conflict) =>
      conflict
        .column('one')
        .doUpdateSet({ ...row, latest: sql<number>`greatest(retention_time.latest, excluded.latest)` }),
    )
    .execute();
}
