import { createReadStream } from 'node:fs';
import { lchown, lstat, mkdir, readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { formatBytes } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import { openDiskBlobs } from '../blobs/disk.ts';
import { writeBlobMark } from '../blobs/installation-mark.ts';
import type { Connection } from '../database/database.ts';
import { recordedSchema } from '../database/known-schema.ts';
import { migrate } from '../database/migrate.ts';
import { startCluster } from '../postgres/cluster.ts';
import { openOwnDatabase } from '../postgres/roles.ts';
import { lockData } from '../process/data-lock.ts';
import { version } from '../version.ts';
import {
  blobPath,
  blobsFolder,
  type Damage,
  databaseFolder,
  findSnapshot,
  keysFile,
  type Manifest,
  readBlobList,
  sha256Of,
  type Snapshot,
} from './backup-folder.ts';
import { connectAs, databaseName, sessionsOf } from './database-access.ts';
import { requireAuthentic } from './authentic.ts';
import { decodeKeys, isBesideReleaseKeys, type KeyEntry, refuseOtherKeys, writeKeys } from './key-file.ts';
import type { Work } from './make-backup.ts';
import { type BackupKey, keyAmong } from './manifest-mac.ts';
import { refusalOfDisk } from './disk-full.ts';
import { restoringFile } from './restoring.ts';
import { advanceReleaseDocuments } from './store/advance-releases.ts';
import { damageOf, loadDatabase } from './store/database-dump.ts';
import { beginTarget, endTarget } from './store/target-database.ts';

export type RestoreOptions = {
  folder: string;
  snapshot: string | undefined;
  /** New or empty. */
  dataDir: string;
  databaseUrl: string | undefined;
  keys: string | undefined;
  passphrase: string | undefined;
  /** Keys that did not come with the backup. */
  trusted: readonly BackupKey[];
  /** Go on without damaged files. */
  acceptDamaged: boolean;
  /** Go on although nothing proves that the installation made the backup. */
  acceptUnauthenticated: boolean;
};

export type RestoreResult = {
  name: string;
  createdOn: string;
  dataFolder: string;
  rows: number;
  files: number;
  migrated: string[];
  damaged: Damage[];
};

/**
 * Restores a snapshot into a new folder. Everything is checked before the first byte is written; until the end, no server
 * starts on the folder.
 *
 * @throws PlatformError BACKUP_…, RESTORE_TARGET_IN_USE, DISK_FULL, DATABASE_UNAVAILABLE
 */
export async function restoreBackup(options: RestoreOptions, work: Work): Promise<RestoreResult> {
  const snapshot = await findSnapshot(options.folder, options.snapshot);
  const { name, manifest } = snapshot;
  const { keys, proves } = await readKeys(snapshot, options);
  requireAuthentic(snapshot, { ...options, inBackup: keyAmong(keys), proves });
  const last = await lastMigration(name, manifest);
  for (const table of manifest.database.tables) {
    const problem = await damageOf(path.join(snapshot.folder, databaseFolder), table);
    const file = path.join(snapshot.folder, databaseFolder, table.file);
    if (problem !== undefined) throw new PlatformError('BACKUP_DAMAGED', { file, problem });
  }
  const isInside = isBesideReleaseKeys(keys) && path.basename(options.dataDir) !== 'cloud';
  const dataFolder = isInside ? path.join(options.dataDir, 'cloud') : options.dataDir;
  await refuseOtherKeys(dataFolder, keys);
  try {
    return await restoreInto({ snapshot, keys, dataFolder, last }, options, work);
  } catch (error) {
    throw await refusalOfDisk(error, {
      files: options.dataDir,
      database: options.databaseUrl === undefined ? dataFolder : undefined,
    });
  }
}

type Checked = { snapshot: Snapshot; keys: KeyEntry[]; dataFolder: string; last: string };

async function restoreInto(
  { snapshot, keys, dataFolder, last }: Checked,
  options: RestoreOptions,
  work: Work,
): Promise<RestoreResult> {
  const { name, manifest } = snapshot;
  const owner = await emptyTarget(dataFolder, work);
  await checkRoom(dataFolder, manifest, options);
  await using _lock = await lockData(dataFolder);
  await writeKeys(dataFolder, keys);
  const { files, damaged } = await restoreFiles(snapshot, options, dataFolder, work);
  const migrated = await restoreDatabase(snapshot, { ...options, dataFolder, last }, work);
  const rows = manifest.database.tables.reduce((sum, table) => sum + table.rows, 0);
  if (process.getuid?.() === 0 && owner !== undefined && owner.uid !== 0) await give(dataFolder, owner);
  await rm(restoringFile(dataFolder));
  return { name, createdOn: manifest.createdOn, dataFolder, rows, files, migrated, damaged };
}

/** @returns the last migration of the backup. @throws PlatformError BACKUP_NEWER, DATA_NOT_RELEASED */
async function lastMigration(name: string, { database, version: found }: Manifest): Promise<string> {
  const { last, unknown, isUnreleased } = await recordedSchema(database.migrations);
  if (isUnreleased) throw new PlatformError('DATA_NOT_RELEASED', { what: `the backup ${name}`, found: last });
  if (unknown === undefined) return last;
  throw new PlatformError('BACKUP_NEWER', { name, found, own: version, what: `schema ${unknown}` });
}

/** @returns the keys; `proves`: who can write to the folder of backups cannot have written them. */
async function readKeys(
  { name, folder, manifest }: Snapshot,
  options: RestoreOptions,
): Promise<{ keys: KeyEntry[]; proves: boolean }> {
  const file = options.keys ?? path.join(folder, keysFile);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) throw new PlatformError('BACKUP_KEYS_MISSING', { name, file });
  if (options.keys === undefined && sha256Of(text) !== manifest.keys.sha256)
    throw new PlatformError('BACKUP_DAMAGED', { file, problem: 'its sha256 is not that of the manifest' });
  const { keys, isSealed } = decodeKeys(file, text, options.passphrase);
  const secrets = keys.find((one) => one.path === 'secrets.json');
  const found =
    secrets && (JSON.parse(Buffer.from(secrets.base64, 'base64').toString()) as { installation_id?: string });
  if (found?.installation_id === manifest.installationId)
    return { keys, proves: isSealed || !isWithin(file, options.folder) };
  const problem = `they are those of installation ${found?.installation_id ?? '(none)'}, and the backup is of ${manifest.installationId}`;
  throw new PlatformError('BACKUP_KEYS_MISSING', { name, file, problem });
}

const isWithin = (file: string, folder: string): boolean =>
  path.resolve(file).startsWith(`${path.resolve(folder)}${path.sep}`);

/**
 * Prepares an empty folder with the mark of a restore. Empties one in which a restore did not end.
 *
 * @returns the owner of a folder that existed.
 */
async function emptyTarget(
  dataFolder: string,
  { clock, log }: Work,
): Promise<{ uid: number; gid: number } | undefined> {
  const before = await stat(dataFolder).catch(() => undefined);
  const names = (await readdir(dataFolder).catch(() => [])).filter((name) => name !== 'lost+found');
  const isOurs = (await readJson(restoringFile(dataFolder))) !== undefined;
  if (names[0] !== undefined && !isOurs)
    throw new PlatformError('RESTORE_TARGET_IN_USE', { path: dataFolder, found: names[0] });
  if (isOurs) {
    await using _lock = await lockData(dataFolder);
    log.info('a restore did not end here: beginning anew', { folder: dataFolder });
    const postgres = path.join(dataFolder, 'postgres');
    if (await stat(postgres).catch(() => undefined))
      await startCluster({ folder: postgres, clock, log, mustExist: true }).then(
        (cluster) => cluster.stop(),
        () => {},
      );
    for (const name of await readdir(dataFolder))
      if (path.join(dataFolder, name) !== restoringFile(dataFolder) && !name.startsWith('server.lock'))
        await rm(path.join(dataFolder, name), { recursive: true, force: true });
  }
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  await atomicWrite(restoringFile(dataFolder), '{}\n');
  return before && { uid: before.uid, gid: before.gid };
}

/** The log of a load: at most max_wal_size, which is the default of PostgreSQL. */
const longestLogBytes = 2 ** 30;
/** A database without rows. */
const emptyClusterBytes = 64 * 2 ** 20;

/** @throws PlatformError DISK_FULL before rows and files are written. */
async function checkRoom(
  dataFolder: string,
  { blobs, database: { diskBytes } }: Manifest,
  { databaseUrl }: RestoreOptions,
): Promise<void> {
  const { bavail, bsize } = await statfs(dataFolder);
  const own = databaseUrl === undefined ? diskBytes + Math.min(2 * diskBytes, longestLogBytes) + emptyClusterBytes : 0;
  const [needed, free] = [blobs.bytes + own, bavail * bsize];
  if (needed <= free) return;
  const data = { path: dataFolder, what: 'the restore', needed: formatBytes(needed), free: formatBytes(free) };
  throw new PlatformError('DISK_FULL', data);
}

async function restoreFiles(
  snapshot: Snapshot,
  { folder, acceptDamaged }: RestoreOptions,
  dataFolder: string,
  { signal }: Work,
): Promise<{ files: number; damaged: Damage[] }> {
  const target = await openDiskBlobs(path.join(dataFolder, blobsFolder));
  await writeBlobMark(path.join(dataFolder, blobsFolder), snapshot.manifest.installationId);
  const damaged: Damage[] = [];
  let files = 0;
  for await (const { sha256 } of readBlobList(snapshot)) {
    signal?.throwIfAborted();
    const file = blobPath(folder, sha256);
    const problem = await stat(file)
      .then(() => target.put(createReadStream(file), { sha256 }))
      .then(() => undefined, problemOf);
    if (problem === undefined) files += 1;
    else if (acceptDamaged) damaged.push({ file, problem });
    else throw new PlatformError('BACKUP_DAMAGED', { file, problem });
  }
  return { files, damaged };
}

/** The problem of a damaged file; any other error is thrown. */
function problemOf(error: unknown): string {
  if (error instanceof PlatformError && error.code === 'HASH_MISMATCH')
    return `its sha256 is ${String(error.data['gotSha256'])}`;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (code === 'ENOENT') return 'it is missing';
  if (syscall === 'read') return 'it cannot be read';
  throw error;
}

async function restoreDatabase(
  snapshot: Snapshot,
  { dataFolder, databaseUrl, last }: RestoreOptions & { dataFolder: string; last: string },
  { clock, log, signal }: Work,
): Promise<string[]> {
  await using started = new AsyncDisposableStack();
  let connection: Connection;
  if (databaseUrl === undefined) {
    const cluster = await startCluster({ folder: path.join(dataFolder, 'postgres'), clock, log });
    started.defer(() => cluster.stop());
    connection = await openOwnDatabase(cluster, databaseName, log);
  } else connection = await sessionsOf(databaseUrl);
  await using client = await connectAs(connection, dataFolder);
  await beginTarget(client);
  await migrate(connection, dataFolder, { last });
  await loadDatabase(client, path.join(snapshot.folder, databaseFolder), snapshot.manifest.database, signal);
  const migrated = await migrate(connection, dataFolder);
  await advanceReleaseDocuments(connection, dataFolder, { clock, log });
  await endTarget(client);
  return migrated;
}

async function give(folder: string, owner: { uid: number; gid: number }): Promise<void> {
  if ((await lstat(folder)).isDirectory())
    for (const name of await readdir(folder)) await give(path.join(folder, name), owner);
  await lchown(folder, owner.uid, owner.gid);
}
