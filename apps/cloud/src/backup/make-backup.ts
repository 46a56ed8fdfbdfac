import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openDiskBlobs } from '../blobs/disk.ts';
import { filesToBackUp, manifestsToBackUp } from '../blobs/store/owned-blobs.ts';
import { holdFiles } from '../database/backup-lock.ts';
import type { Connection } from '../database/database.ts';
import { version } from '../version.ts';
import {
  beginSnapshot,
  blobPath,
  blobsFolder,
  completeSnapshot,
  type Damage,
  databaseFolder,
  hashOf,
  keysFile,
  lockBackups,
  type Manifest,
  nextNumber,
  prepareFolder,
  prune,
  removeHidden,
  sha256Of,
} from './backup-folder.ts';
import { noteBackup } from './backup-note.ts';
import { connectAs } from './database-access.ts';
import { refusalOfDisk } from './disk-full.ts';
import { collectKeys, encodeKeys } from './key-file.ts';
import { type BackupKey, readBackupKey } from './manifest-mac.ts';
import { dumpDatabase } from './store/database-dump.ts';

export type BackupOptions = {
  folder: string;
  dataFolder: string;
  connection: Connection;
  /** Snapshots that stay; undefined: all. */
  keep: number | undefined;
  passphrase: string | undefined;
  /** Where the keys go; undefined: into the snapshot. */
  keysTo: string | undefined;
};

export type Work = { clock: Clock; log: Log; signal?: AbortSignal | undefined };

export type BackupResult = {
  name: string;
  folder: string;
  rows: number;
  files: number;
  bytes: number;
  copiedFiles: number;
  removed: string[];
  damaged: Damage[];
  /** Folders with keys that this user may not read. */
  unreadKeys: string[];
};

/**
 * Adds a snapshot to a folder of backups, while the server runs or not. Decision 0081.
 *
 * @throws PlatformError BACKUP_FOLDER_UNUSABLE, BACKUP_OTHER_INSTALLATION, BACKUP_IN_USE, DISK_FULL,
 * DATABASE_UNAVAILABLE
 */
export async function makeBackup(options: BackupOptions, work: Work): Promise<BackupResult> {
  const { folder, dataFolder } = options;
  const key = await readBackupKey(dataFolder);
  try {
    await prepareFolder(folder, dataFolder, key.installationId);
    await using _lock = await lockBackups(folder);
    return await addSnapshot(options, key, work);
  } catch (error) {
    throw await refusalOfDisk(error, { files: folder, database: dataFolder });
  }
}

async function addSnapshot(options: BackupOptions, key: BackupKey, work: Work): Promise<BackupResult> {
  const { folder, keep } = options;
  try {
    const made = await fill(options, key, work);
    const pruned = keep === undefined ? { removed: [] } : await prune(folder, keep);
    await noteBackup(options, made.name, work.clock);
    return { ...made, removed: pruned.removed };
  } catch (error) {
    await removeHidden(folder).catch(() => {});
    throw error;
  }
}

type FileRow = { sha256: string; isRequired: boolean };

async function fill(options: BackupOptions, key: BackupKey, work: Work): Promise<Omit<BackupResult, 'removed'>> {
  const { installationId } = key;
  const { folder, dataFolder, connection } = options;
  const { clock, log, signal } = work;
  const createdOn = new Date(clock.wall()).toISOString();
  const number = await nextNumber(folder);
  const made = await beginSnapshot(folder);
  await using client = await connectAs(connection, dataFolder);
  // Until the end of this session, no sweep deletes a file that the snapshot may name.
  await client.query(holdFiles);
  const { unread: unreadKeys, ...keys } = await writeKeyFile(options, installationId, made);
  const { dump, read: files } = await dumpDatabase(client, path.join(made, databaseFolder), {
    inSnapshot: () => filesOf(client, dataFolder),
    signal,
  });
  const rows = dump.tables.reduce((sum, table) => sum + table.rows, 0);
  log.info('the database is saved', { tables: dump.tables.length, rows });
  const copied = await copyFiles(files, { from: dataFolder, to: folder }, work);
  // Without an answer, the session has ended, and with it the protection of the files.
  await client.query('select 1').catch((error: unknown) => {
    const problem = `lost while files were copied: ${errorText(error)}`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem }, error);
  });
  const list = await writeBlobList(made, copied.stored);
  const manifest: Manifest = {
    format: 1,
    number,
    createdOn,
    version,
    installationId,
    database: dump,
    blobs: { ...list, count: copied.stored.length, bytes: copied.bytes },
    keys,
    damaged: copied.damaged,
  };
  const { name, folder: at } = await completeSnapshot(folder, { made, manifest, key });
  const { bytes, copiedFiles, damaged } = copied;
  return { name, folder: at, rows, files: copied.stored.length, bytes, copiedFiles, damaged, unreadKeys };
}

async function writeKeyFile(
  { dataFolder, passphrase, keysTo }: BackupOptions,
  installationId: string,
  made: string,
): Promise<Manifest['keys'] & { unread: string[] }> {
  const { files, unread } = await collectKeys(dataFolder);
  const text = encodeKeys(installationId, files, passphrase);
  await atomicWrite(keysTo ?? path.join(made, keysFile), text, { mode: 0o600 });
  return { sha256: sha256Of(text), isEncrypted: passphrase !== undefined, isApart: keysTo !== undefined, unread };
}

/** Also the images that running jobs still need, although they were deleted. */
async function filesOf(client: Client, dataFolder: string): Promise<FileRow[]> {
  const {
    rows: [has],
  } = await client.query<{ attachments: boolean }>(
    `select to_regclass('release_attachment') is not null as attachments`,
  );
  const { rows } = await client.query<FileRow>(filesToBackUp({ hasAttachments: has?.attachments === true }));
  const known = new Set(rows.map(({ sha256 }) => sha256));
  const { rows: manifests } = await client.query<{ sha256: string }>(manifestsToBackUp);
  for (const { sha256 } of manifests) {
    const text = await readFile(blobPath(dataFolder, sha256), 'utf8').catch(() => '');
    for await (const line of createInterface({ input: Readable.from([text]) })) {
      const image = line === '' ? undefined : (JSON.parse(line) as { sha256: string }).sha256;
      if (image === undefined || known.has(image)) continue;
      known.add(image);
      rows.push({ sha256: image, isRequired: false });
    }
  }
  return rows;
}

const copiesAtOnce = 4;

type Copied = {
  stored: { sha256: string; sizeBytes: number }[];
  bytes: number;
  copiedFiles: number;
  damaged: Damage[];
};

async function copyFiles(
  files: readonly FileRow[],
  { from, to }: { from: string; to: string },
  { signal, log, clock }: Work,
): Promise<Copied> {
  const target = await openDiskBlobs(path.join(to, blobsFolder));
  const result: Copied = { stored: [], bytes: 0, copiedFiles: 0, damaged: [] };
  const left = files[Symbol.iterator]();
  let shownAt = clock.now();
  const worker = async (): Promise<void> => {
    for (const { sha256, isRequired } of left) {
      signal?.throwIfAborted();
      const file = blobPath(from, sha256);
      const done = await copyFile(file, sha256, target);
      if (done.problem !== undefined && isRequired) result.damaged.push({ file, problem: done.problem });
      if (done.sizeBytes !== undefined) {
        result.stored.push({ sha256, sizeBytes: done.sizeBytes });
        result.bytes += done.sizeBytes;
      }
      if (done.isCopied) result.copiedFiles += 1;
      if (clock.now() - shownAt < 10_000) continue;
      shownAt = clock.now();
      log.info('copying files', { done: result.stored.length, of: files.length });
    }
  };
  await Promise.all(Array.from({ length: copiesAtOnce }, worker));
  result.stored.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  return result;
}

/** `sizeBytes`: it is in the backup. `problem`: with the file of the data folder. */
type CopiedFile = { sizeBytes?: number; problem?: string; isCopied?: boolean };

/** The backup's own file serves where that of the data folder was damaged meanwhile. */
async function copyFile(file: string, sha256: string, target: BlobStore): Promise<CopiedFile> {
  const [source, stored] = [await stat(file).catch(() => undefined), await target.head(sha256)];
  if (source && stored?.sizeBytes === source.size) return stored;
  const kept = stored && (await hashOf(await target.get(sha256))) === sha256 ? stored : undefined;
  if (!source) return { problem: 'it is missing', ...kept };
  if (kept) return { problem: `it has ${source.size} bytes, not ${kept.sizeBytes}`, ...kept };
  // A damaged file of the backup would otherwise stay.
  await target.delete(sha256);
  try {
    const { sizeBytes } = await target.put(createReadStream(file), { sha256 });
    return { sizeBytes, isCopied: true };
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'HASH_MISMATCH')
      return { problem: `its sha256 is ${String(error.data['gotSha256'])}` };
    if ((error as { syscall?: unknown }).syscall === 'read') return { problem: errorText(error) };
    throw error;
  }
}

async function writeBlobList(
  made: string,
  stored: readonly { sha256: string; sizeBytes: number }[],
): Promise<{ file: string; sha256: string }> {
  const file = 'blobs.txt.gz';
  const lines = Readable.from(stored.map(({ sha256, sizeBytes }) => `${sha256} ${sizeBytes}\n`));
  const to = createWriteStream(path.join(made, file), { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(lines, createGzip(), to);
  return { file, sha256: sha256Of(await readFile(path.join(made, file))) };
}
