import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { type Connection, clientConfig, cut, type DatabaseRight, isDatabaseAway, serverSessions } from './database.ts';
import { type DatabasePlace, newer, unreleased } from './database-place.ts';

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url));

/** Arbitrary, but the same in every version: one migration at a time per database. */
const lockKey = 7_236_501;
const usualLockMs = 60_000;

/** The migrations of this version, in order. */
export async function knownMigrations(folder = migrationsFolder): Promise<{ name: string; sha256: string }[]> {
  const known: { name: string; sha256: string }[] = [];
  for (const name of (await readdir(folder)).filter((one) => /^\d{4}_\w+\.sql$/.test(one)).toSorted()) {
    const text = await readFile(path.join(folder, name), 'utf8');
    known.push({ name, sha256: createHash('sha256').update(text).digest('hex') });
  }
  return known;
}

/** Whether the migrations are those of a version from before the first release: every other one begins with the baseline. */
export const isFromBeforeBaseline = (applied: readonly string[], baseline: string | undefined): boolean =>
  applied.length > 0 && baseline !== undefined && !applied.includes(baseline);

/**
 * Migrates the schema to this version: each new NNNN_name.sql in its own transaction, in order, forward only.
 * Decision 0156.
 *
 * @param of - lockMs: how long a statement waits for locks of other sessions. right: losing it ends the migration. last:
 *   name of the last file to apply.
 * @returns names of the files that were applied now.
 * @throws PlatformError DATA_NOT_RELEASED, DATA_DIR_NEWER, DATABASE_NEWER if the database has a file that this version lacks, or one with other content;
 * DATABASE_UNAVAILABLE if another session holds a table, or the database no longer answers.
 */
export async function migrate(
  connection: Connection,
  where: DatabasePlace,
  of: { folder?: string; lockMs?: number; right?: Pick<DatabaseRight, 'onLost'>; last?: string } = {},
): Promise<string[]> {
  const { folder = migrationsFolder, lockMs = usualLockMs, last } = of;
  // No limit per statement: a migration of many rows may take long.
  const client = new Client({ ...clientConfig(connection, serverSessions), lock_timeout: lockMs });
  let step = 'a connection';
  client.on('error', () => {});
  of.right?.onLost(() => cut(client));
  try {
    return await applyNew(client, { where, folder, last, onStep: (next) => (step = next) });
  } catch (error) {
    if (error instanceof PlatformError || !isDatabaseAway(error)) throw error;
    const problem = `waited for ${step} (at most ${lockMs / 1_000} s for another session): ${errorText(error)}`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem }, error);
  }
}

type Migration = { where: DatabasePlace; folder: string; last: string | undefined; onStep: (step: string) => void };

async function applyNew(client: Client, { where, folder, last, onStep }: Migration): Promise<string[]> {
  const all = await knownMigrations(folder);
  const files = all.map(({ name }) => name).filter((name) => last === undefined || name <= last);
  await client.connect();
  onStep('another migration to end');
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey]);
    await client.query(
      'create table if not exists migration (name text primary key, sha256 text not null, applied_on timestamptz(3) not null default now())',
    );
    const { rows } = await client.query<{ name: string; sha256: string }>(
      'select name, sha256 from migration order by name',
    );
    const names = rows.map(({ name }) => name);
    if (isFromBeforeBaseline(names, files[0])) throw unreleased(where, names.at(-1) ?? '');
    const unknown = rows.filter((row) => !files.includes(row.name)).at(-1);
    if (unknown) throw newer(where, { found: unknown.name, known: files.at(-1) ?? 'nothing' });

    const known = new Map(rows.map((row) => [row.name, row.sha256]));
    const applied: string[] = [];
    for (const name of files) {
      const text = await readFile(path.join(folder, name), 'utf8');
      const sha256 = createHash('sha256').update(text).digest('hex');
      const before = known.get(name);
      if (before === sha256) continue;
      if (before !== undefined) {
        throw newer(where, { found: `${name} ${before.slice(0, 8)}`, known: `${name} ${sha256.slice(0, 8)}` });
      }
      onStep(name);
      await client.query('begin');
      try {
        await client.query(text);
        await client.query('insert into migration (name, sha256) values ($1, $2)', [name, sha256]);
        await client.query('commit');
      } catch (error) {
        await client.query('rollback').catch(() => {});
        throw error;
      }
      applied.push(name);
    }
    return applied;
  } finally {
    await client.end().catch(() => {});
  }
}
