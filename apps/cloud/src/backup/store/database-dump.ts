// Dumps the rows of a database in one snapshot, and loads them into another database of the same schema. The schema
// itself comes from the migrations, so a dump needs no pg_dump and moves between major versions of PostgreSQL.
// Decision 0081.
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { type CopyStreamQuery, type CopyToStreamQuery, from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { PlatformError } from '@platform/contract/errors/errors';
import { cut } from '../../database/database.ts';

export type DumpedTable = {
  name: string;
  columns: string[];
  rows: number;
  /** Name in the folder of the dump. */
  file: string;
  sizeBytes: number;
  /** That of the file. */
  sha256: string;
};

export type DatabaseDump = {
  /** Version of the PostgreSQL that was dumped. */
  postgres: string;
  /** What tables and indexes took on its disk. */
  diskBytes: number;
  /** What the schema consists of. */
  migrations: { name: string; sha256: string }[];
  tables: DumpedTable[];
  partitions: { name: string; parent: string; bound: string }[];
  sequences: { name: string; value: string }[];
};

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** All of the current schema; partitions belong to their parents, and `migration` to the program that migrates. */
const tablesQuery = `
  select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'migration' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   group by c.relname order by c.relname`;
const partitionsQuery = `
  select c.relname as name, parent.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class parent on parent.oid = i.inhparent
   where c.relnamespace = current_schema()::regnamespace and c.relispartition and c.relkind = 'r' order by 1`;
const sequencesQuery = `
  select sequencename as name, last_value::text as value from pg_sequences
   where schemaname = current_schema() and last_value is not null order by 1`;

/**
 * Writes one file for each table. Writers are not blocked; a change of the schema waits.
 *
 * @param client - connected, without a transaction. A failure closes it.
 * @param inSnapshot - reads more from the same snapshot.
 */
export async function dumpDatabase<T>(
  client: Client,
  folder: string,
  { inSnapshot, signal }: { inSnapshot: () => Promise<T>; signal?: AbortSignal | undefined },
): Promise<{ dump: DatabaseDump; read: T }> {
  const rowsOf = async <R>(text: string): Promise<R[]> => (await client.query(text)).rows as R[];
  await client.query('begin transaction isolation level repeatable read read only');
  try {
    const migrations = await rowsOf<{ name: string; sha256: string }>(
      'select name, sha256 from migration order by name',
    );
    const [server] = await rowsOf<{ postgres: string; bytes: string }>(
      `select current_setting('server_version') as postgres, pg_database_size(current_database()) as bytes`,
    );
    const tables: DumpedTable[] = [];
    for (const table of await rowsOf<{ name: string; columns: string[] }>(tablesQuery))
      tables.push(await dumpTable(client, folder, table, signal));
    const partitions = await rowsOf<DatabaseDump['partitions'][number]>(partitionsQuery);
    const read = await inSnapshot();
    // Sequences are not part of a snapshot. Read last, they are at least as far as the rows.
    const sequences = await rowsOf<DatabaseDump['sequences'][number]>(sequencesQuery);
    await client.query('commit');
    const [postgres, diskBytes] = [server?.postgres ?? '', Number(server?.bytes)];
    return { dump: { postgres, diskBytes, migrations, tables, partitions, sequences }, read };
  } catch (error) {
    // A statement behind a COPY that nothing reads would wait for ever.
    cut(client);
    throw error;
  }
}

async function dumpTable(
  client: Client,
  folder: string,
  { name, columns }: { name: string; columns: string[] },
  signal: AbortSignal | undefined,
): Promise<DumpedTable> {
  const file = `${name}.copy.gz`;
  const list = columns.map(quoted).join(', ');
  // The form with a query also reads partitioned tables.
  const rows: CopyToStreamQuery = client.query(copyTo(`copy (select ${list} from ${quoted(name)}) to stdout`));
  const sum = hashing();
  const to = createWriteStream(path.join(folder, file), { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(rows, createGzip({ level: 1 }), sum.through, to, { ...(signal && { signal }) });
  return { name, columns, rows: rows.rowCount, file, ...sum.result() };
}

/** A stream that counts and hashes what passes. */
function hashing(): { through: Transform; result(): { sizeBytes: number; sha256: string } } {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const through = new Transform({
    transform(chunk: Buffer, _, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { through, result: () => ({ sizeBytes, sha256: hash.digest('hex') }) };
}

type ForeignKey = { table: string; name: string; definition: string };
const foreignKeysQuery = `
  select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`;

/**
 * Replaces all rows by those of the dump in one transaction: all or none. Foreign keys are dropped before and validated
 * after, so the order of the tables does not matter and no right beyond owning the tables is needed.
 *
 * @param client - of a database with the schema of the dump. A failure closes it.
 * @throws PlatformError BACKUP_DAMAGED if a file differs from the dump's record.
 */
export async function loadDatabase(
  client: Client,
  folder: string,
  dump: DatabaseDump,
  signal?: AbortSignal,
): Promise<void> {
  await client.query('begin');
  try {
    const tables = ((await client.query(tablesQuery)).rows as { name: string }[]).map(({ name }) => name);
    const { rows: keys } = await client.query<ForeignKey>(foreignKeysQuery);
    for (const key of keys) await client.query(`alter table ${key.table} drop constraint ${key.name}`);
    for (const name of tables) await client.query(`alter table ${quoted(name)} disable trigger user`);
    await client.query(`truncate ${tables.map(quoted).join(', ')}`);
    for (const { name, parent, bound } of dump.partitions)
      await client.query(`create table if not exists ${quoted(name)} partition of ${quoted(parent)} ${bound}`);
    for (const table of dump.tables) await loadTable(client, folder, table, signal);
    for (const { name, value } of dump.sequences)
      await client.query('select setval($1::regclass, $2::bigint)', [quoted(name), value]);
    for (const name of tables) await client.query(`alter table ${quoted(name)} enable trigger user`);
    for (const key of keys) await client.query(`alter table ${key.table} add constraint ${key.name} ${key.definition}`);
    await client.query('commit');
  } catch (error) {
    cut(client);
    throw error;
  }
  await client.query('analyze');
}

async function loadTable(
  client: Client,
  folder: string,
  table: DumpedTable,
  signal: AbortSignal | undefined,
): Promise<void> {
  const file = path.join(folder, table.file);
  const list = table.columns.map(quoted).join(', ');
  const rows: CopyStreamQuery = client.query(copyFrom(`copy ${quoted(table.name)} (${list}) from stdin`));
  const sum = hashing();
  await pipeline(createReadStream(file), sum.through, createGunzip(), rows, { ...(signal && { signal }) });
  const found = sum.result();
  if (found.sha256 !== table.sha256)
    throw new PlatformError('BACKUP_DAMAGED', { file, problem: `its sha256 is ${found.sha256}, not ${table.sha256}` });
  if (rows.rowCount !== table.rows)
    throw new PlatformError('BACKUP_DAMAGED', { file, problem: `it has ${rows.rowCount} rows, not ${table.rows}` });
}

/** Why a file of the dump cannot be loaded; undefined: it has the recorded hash. */
export async function damageOf(folder: string, table: DumpedTable): Promise<string | undefined> {
  const file = path.join(folder, table.file);
  const found = await stat(file).catch(() => undefined);
  if (!found) return 'it is missing';
  if (found.size !== table.sizeBytes) return `it has ${found.size} bytes, not ${table.sizeBytes}`;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  const sha256 = hash.digest('hex');
  return sha256 === table.sha256 ? undefined : `its sha256 is ${sha256}, not ${table.sha256}`;
}
