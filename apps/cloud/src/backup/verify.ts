import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
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
  readBlobList,
  sha256Of,
  type Snapshot,
} from './backup-folder.ts';
import { damageOf } from './store/database-dump.ts';

export type VerifyResult = {
  snapshots: { name: string; createdOn: string; version: string; rows: number; files: number; bytes: number }[];
  files: number;
  bytes: number;
  damaged: Damage[];
  /** Snapshots whose keys lie elsewhere and were not read. */
  keysElsewhere: string[];
};

/**
 * Reads every file of one snapshot or all, and compares its hash.
 *
 * @param keys - file with the keys, where they are kept apart.
 * @throws PlatformError BACKUP_NOT_FOUND
 */
export async function verifyBackup(
  { folder, snapshot, keys }: { folder: string; snapshot: string | undefined; keys: string | undefined },
  { signal }: { signal?: AbortSignal | undefined },
): Promise<VerifyResult> {
  await findSnapshot(folder, snapshot).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'BACKUP_NOT_FOUND') throw error;
  });
  await using _lock = await lockBackups(folder);
  const found = await listSnapshots(folder);
  const isWanted = ({ name }: { name: string }): boolean =>
    snapshot === undefined || name === snapshot || String(Number.parseInt(name, 10)) === snapshot;
  const result: VerifyResult = { snapshots: [], files: 0, bytes: 0, damaged: [], keysElsewhere: [] };
  for (const { name, error } of found.damaged.filter(isWanted))
    result.damaged.push({ file: path.join(folder, 'snapshots', name), problem: error.what });
  const blobs = new Map<string, number>();
  for (const one of found.whole.filter(isWanted)) await verifySnapshot(one, keys, { blobs, result });
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

type Found = { blobs: Map<string, number>; result: VerifyResult };

async function verifySnapshot(snapshot: Snapshot, keys: string | undefined, { blobs, result }: Found): Promise<void> {
  const { name, folder, manifest } = snapshot;
  const { tables } = manifest.database;
  for (const table of tables) {
    const problem = await damageOf(path.join(folder, databaseFolder), table);
    if (problem !== undefined) result.damaged.push({ file: path.join(folder, databaseFolder, table.file), problem });
  }
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
