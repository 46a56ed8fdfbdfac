import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import {
  blobPath,
  type Damage,
  databaseFolder,
  findSnapshot,
  hashOf,
  keysFile,
  listSnapshots,
  lockBackups,
  macFile,
  readBlobList,
  sha256Of,
  type Snapshot,
} from './backup-folder.ts';
import { authenticity, wrongMac } from './authentic.ts';
import type { BackupKey } from './manifest-mac.ts';
import { damageOf } from './store/database-dump.ts';

export type VerifyResult = {
  snapshots: { name: string; createdOn: string; version: string; rows: number; files: number; bytes: number }[];
  files: number;
  bytes: number;
  damaged: Damage[];
  /** Snapshots whose keys lie elsewhere and were not read. */
  keysElsewhere: string[];
  /** Snapshots without a MAC. */
  withoutMac: string[];
  /** Snapshots whose MAC was not checked: none of the given keys is of their installation. */
  notAuthenticated: string[];
};

/**
 * Reads every file of one snapshot or all, and compares its hash.
 *
 * @param of - keys: file with the keys, where they are kept apart. trusted: keys that did not come with the backup.
 * @throws PlatformError BACKUP_NOT_FOUND
 */
export async function verifyBackup(
  of: { folder: string; snapshot: string | undefined; keys: string | undefined; trusted: readonly BackupKey[] },
  { signal }: { signal?: AbortSignal | undefined },
): Promise<VerifyResult> {
  const { folder, snapshot } = of;
  await findSnapshot(folder, snapshot).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'BACKUP_NOT_FOUND') throw error;
  });
  await using _lock = await lockBackups(folder);
  const found = await listSnapshots(folder);
  const isWanted = ({ name }: { name: string }): boolean =>
    snapshot === undefined || name === snapshot || String(Number.parseInt(name, 10)) === snapshot;
  const lists = { damaged: [], keysElsewhere: [], withoutMac: [], notAuthenticated: [] };
  const result: VerifyResult = { snapshots: [], files: 0, bytes: 0, ...lists };
  for (const { name, error } of found.damaged.filter(isWanted))
    result.damaged.push(damageOfSnapshot(path.join(folder, 'snapshots', name), error));
  const blobs = new Map<string, number>();
  for (const one of found.whole.filter(isWanted)) await verifySnapshot(one, of, { blobs, result });
  for (const [sha256, sizeBytes] of blobs) {
    signal?.throwIfAborted();
    const file = blobPath(folder, sha256);
    const problem = await problemOf(file, sha256, sizeBytes);
    if (problem !== undefined) result.damaged.push({ file, problem });
    result.files += 1;
    result.bytes += sizeBytes;
  }
  return result;
}

/** The error's own file and problem: its whole sentence would stand inside another one. */
function damageOfSnapshot(folder: string, { code, data, what }: PlatformError): Damage {
  const { file, problem } = data;
  return code === 'BACKUP_DAMAGED'
    ? { file: String(file), problem: String(problem) }
    : { file: folder, problem: what.replace(/\.$/, '') };
}

type Found = { blobs: Map<string, number>; result: VerifyResult };

async function verifySnapshot(
  snapshot: Snapshot,
  { keys, trusted }: { keys: string | undefined; trusted: readonly BackupKey[] },
  { blobs, result }: Found,
): Promise<void> {
  const { name, folder, manifest } = snapshot;
  const { tables } = manifest.database;
  for (const table of tables) {
    const problem = await damageOf(path.join(folder, databaseFolder), table);
    if (problem !== undefined) result.damaged.push({ file: path.join(folder, databaseFolder, table.file), problem });
  }
  const found = authenticity(snapshot, trusted);
  if (found === 'none') result.withoutMac.push(name);
  if (found === 'unknown') result.notAuthenticated.push(name);
  if (found === 'wrong') result.damaged.push({ file: path.join(folder, macFile), problem: wrongMac });
  const file = keys ?? path.join(folder, keysFile);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined && manifest.keys.isApart) result.keysElsewhere.push(name);
  else if (text === undefined) result.damaged.push({ file, problem: 'it is missing' });
  else if (sha256Of(text) !== manifest.keys.sha256)
    result.damaged.push({ file, problem: `its sha256 is not that of the manifest of ${name}` });
  try {
    for await (const { sha256, sizeBytes } of readBlobList(snapshot)) blobs.set(sha256, sizeBytes);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    result.damaged.push({ file: path.join(folder, manifest.blobs.file), problem: String(error.data['problem']) });
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const { createdOn, version } = manifest;
  const { count: files, bytes } = manifest.blobs;
  result.snapshots.push({ name, createdOn, version, rows, files, bytes });
}

async function problemOf(file: string, sha256: string, sizeBytes: number): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return 'it is missing';
  if (found.size !== sizeBytes) return `it has ${found.size} bytes, not ${sizeBytes}`;
  try {
    const real = await hashOf(createReadStream(file));
    return real === sha256 ? undefined : `its sha256 is ${real}`;
  } catch (error) {
    return errorText(error);
  }
}
