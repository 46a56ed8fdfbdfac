import type { Database } from '../../database/database.ts';

/** The latest time by which data was kept or deleted, in ms since 1970. It does not follow a clock that was set back. */
export const readLatestTime = async (db: Database): Promise<number | undefined> =>
  (await db.selectFrom('retentionTime').select('latest').executeTakeFirst())?.latest ?? undefined;
