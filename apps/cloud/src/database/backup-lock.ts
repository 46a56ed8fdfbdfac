// While a backup runs, no file is deleted that its snapshot of the database may name.
import { type RawBuilder, sql } from 'kysely';

/** Arbitrary, but the same in every version. */
const lockKey = 7_236_503;

/** A statement for the session of a backup. Taken before the snapshot, held until all files are copied. */
export const holdFiles = `select pg_advisory_lock_shared(${lockKey})`;

/**
 * Whether this transaction may delete files. If so, a backup that begins waits for its end, and then no longer sees
 * their rows.
 */
export const mayDeleteFiles: RawBuilder<{ isFree: boolean }> =
  sql`select pg_try_advisory_xact_lock(${sql.lit(lockKey)}) as is_free`;
