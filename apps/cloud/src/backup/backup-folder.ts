// The folder of backups: snapshots, each with a manifest, and the files of all snapshots by hash.
//   platform-backup.json          whose backups these are
//   snapshots/NNNNNN-TIME/        manifest.json, manifest.sha256, manifest.mac, database/, blobs.txt.gz, keys.json
//   blobs/ab/cd/SHA256            shared by the snapshots
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, FolderLocked, type FolderLock, lockFolder, readJson, readText } from '@platform/kit/node';
import { version } from '../version.ts';
import { readBackupNote } from './backup-note.ts';
import { isSha256 } from '../blobs/blob-store.ts';
import { type BackupKey, macOf } from './manifest-mac.ts';
import { manifestProblem } from './rules/manifest-problem.ts';
import type { DatabaseDump } from './store/database-dump.ts';

export type Damage = { file: string; problem: string };

export type Manifest = {
  format: 1;
  /** Grows with each backup of the folder; a wrong clock does not change the order. */
  number: number;
  createdOn: string;
  version: string;
  installationId: string;
  database: DatabaseDump;
  /** One line for each file: hash, size. */
  blobs: { file: string; sha256: string; count: number; bytes: number };
  /** `isApart`: written to another place than the snapshot. */
  keys: { sha256: string; isEncrypted: boolean; isApart: boolean };
  /** Files that were missing or damaged in the data folder. */
  damaged: Damage[];
};

export type Snapshot = {
  name: string;
  folder: string;
  manifest: Manifest;
  /** The manifest as it was written. */
  text: string;
  /** Over `text`; undefined: a version without MACs made the snapshot, or it was removed. */
  mac: string | undefined;
};

const markerFile = 'platform-backup.json';
const snapshotsFolder = 'snapshots';
const manifestFile = 'manifest.json';
const sumFile = 'manifest.sha256';
export const macFile = 'manifest.mac';
export const keysFile = 'keys.json';
export const databaseFolder = 'database';
export const blobsFolder = 'blobs';
/** Prefix of a folder that is not or no longer a snapshot. */
const hidden = '.';

export const blobPath = (folder: string, sha256: string): string =>
  path.join(folder, blobsFolder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);

/** Locks the folder for one process. @throws PlatformError BACKUP_IN_USE */
export async function lockBackups(folder: string): Promise<FolderLock> {
  try {
    return await lockFolder(path.join(folder, 'backup.lock'));
  } catch (error) {
    if (error instanceof FolderLocked)
      throw new PlatformError('BACKUP_IN_USE', { path: folder, pid: error.pid }, error);
    throw error;
  }
}

/**
 * Makes sure that the folder may hold backups of this installation; creates it.
 *
 * @throws PlatformError BACKUP_FOLDER_UNUSABLE, BACKUP_OTHER_INSTALLATION
 */
export async function prepareFolder(folder: string, dataFolder: string, installationId: string): Promise<void> {
  const refuse = (problem: string, cause?: unknown): PlatformError =>
    new PlatformError('BACKUP_FOLDER_UNUSABLE', { path: folder, problem }, cause);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw refuse(error instanceof Error ? error.message : String(error), error);
  });
  const [target, source] = [await realpath(folder), await realpath(dataFolder)];
  if (isWithin(target, source)) throw refuse(`it lies in the data folder ${source}, which a lost disk takes with it`);
  if (isWithin(source, target)) throw refuse(`the data folder ${source} lies in it`);
  const found = (await readJson(path.join(folder, markerFile))) as { installation_id?: string } | undefined;
  if (found) {
    if (found.installation_id === installationId) return;
    throw new PlatformError('BACKUP_OTHER_INSTALLATION', {
      path: folder,
      found: String(found.installation_id),
      own: installationId,
    });
  }
  const names = (await readdir(folder)).filter((name) => name !== 'lost+found' && !name.startsWith('backup.lock'));
  if (names.length > 0) throw refuse(`it holds other files, for example ${names[0]}`);
  const { at, folder: last } = await readBackupNote(dataFolder);
  if (at !== undefined && last === path.resolve(folder))
    throw refuse(
      `it is empty, and the backup of ${new Date(at).toISOString()} was made there: its disk is not mounted, or the backups were deleted. To begin anew, use another folder`,
    );
  await atomicWrite(
    path.join(folder, markerFile),
    `${JSON.stringify({ format: 1, installation_id: installationId })}\n`,
  );
}

const isWithin = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}${path.sep}`);

export type Snapshots = {
  /** Oldest first. */
  whole: Snapshot[];
  /** Snapshots whose manifest is not what was written. */
  damaged: { name: string; error: PlatformError }[];
};

export async function listSnapshots(folder: string): Promise<Snapshots> {
  const names = await readdir(path.join(folder, snapshotsFolder)).catch(() => []);
  const found: Snapshots = { whole: [], damaged: [] };
  for (const name of names.filter((one) => !one.startsWith(hidden)).toSorted()) {
    try {
      found.whole.push(await readSnapshot(path.join(folder, snapshotsFolder, name)));
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      found.damaged.push({ name, error });
    }
  }
  found.whole.sort((a, b) => a.manifest.number - b.manifest.number);
  return found;
}

const numberOf = (name: string): number => Number.parseInt(name, 10) || 0;

/** Number of the next snapshot. */
export async function nextNumber(folder: string): Promise<number> {
  const { whole, damaged } = await listSnapshots(folder);
  return Math.max(0, ...[...whole, ...damaged].map(({ name }) => numberOf(name))) + 1;
}

async function readSnapshot(folder: string): Promise<Snapshot> {
  const file = path.join(folder, manifestFile);
  const damaged = (problem: string): PlatformError => new PlatformError('BACKUP_DAMAGED', { file, problem });
  const read = (name: string): Promise<string> =>
    readFile(path.join(folder, name), 'utf8').catch(() => {
      throw damaged(`${name} cannot be read`);
    });
  const [text, sum] = [await read(manifestFile), await read(sumFile)];
  if (sha256Of(text) !== sum.trim()) throw damaged(`it does not match ${sumFile}`);
  const mac = (await readText(path.join(folder, macFile)).catch(() => undefined))?.trim();
  const manifest = JSON.parse(text) as Omit<Manifest, 'format'> & { format: number };
  const { format } = manifest;
  if (format !== 1) {
    const of = {
      name: path.basename(folder),
      found: manifest.version,
      own: version,
      what: `format ${format}`,
    };
    throw new PlatformError('BACKUP_NEWER', of);
  }
  const problem = manifestProblem(manifest);
  if (problem !== undefined) throw damaged(problem);
  return { name: path.basename(folder), folder, manifest: { ...manifest, format }, text, mac };
}

export async function hashOf(bytes: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

export const sha256Of = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * @param wanted - name or number; undefined: the newest.
 * @throws PlatformError BACKUP_NOT_FOUND, or what is wrong with this snapshot.
 */
export async function findSnapshot(folder: string, wanted: string | undefined): Promise<Snapshot> {
  const { whole, damaged } = await listSnapshots(folder);
  const all = [...whole, ...damaged].toSorted((a, b) => numberOf(a.name) - numberOf(b.name));
  const found =
    wanted === undefined ? all.at(-1) : all.find(({ name }) => name === wanted || String(numberOf(name)) === wanted);
  if (found && 'error' in found) throw found.error;
  if (found) return found;
  const names = all.map(({ name }) => name).join(', ');
  throw new PlatformError('BACKUP_NOT_FOUND', {
    path: folder,
    ...(wanted !== undefined && { name: wanted }),
    ...(names !== '' && { names }),
  });
}

/** A new snapshot under a hidden name. @returns its folder. */
export async function beginSnapshot(folder: string): Promise<string> {
  await removeHidden(folder);
  const made = path.join(folder, snapshotsFolder, `${hidden}incomplete`);
  await mkdir(path.join(made, databaseFolder), { recursive: true, mode: 0o700 });
  return made;
}

/** Removes what a cut-off backup or pruning left. */
export async function removeHidden(folder: string): Promise<void> {
  for (const name of await readdir(path.join(folder, snapshotsFolder)).catch(() => []))
    if (name.startsWith(hidden)) await rm(path.join(folder, snapshotsFolder, name), { recursive: true, force: true });
}

/** Writes the manifest, then gives the snapshot its name: from this moment on it counts. */
export async function completeSnapshot(
  folder: string,
  { made, manifest, key }: { made: string; manifest: Manifest; key: BackupKey },
): Promise<Snapshot> {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  const mac = macOf(text, key);
  await atomicWrite(path.join(made, sumFile), `${sha256Of(text)}\n`, { mode: 0o600 });
  await atomicWrite(path.join(made, macFile), `${mac}\n`, { mode: 0o600 });
  await atomicWrite(path.join(made, manifestFile), text, { mode: 0o600 });
  const time = manifest.createdOn.slice(0, 19).replaceAll(':', '-');
  const name = `${String(manifest.number).padStart(6, '0')}-${time}Z`;
  const final = path.join(folder, snapshotsFolder, name);
  await rename(made, final);
  // Its parent is synced by the write of the marker's neighbour.
  await atomicWrite(path.join(folder, snapshotsFolder, `${hidden}newest`), `${name}\n`);
  return { name, folder: final, manifest, text, mac };
}

/**
 * Removes all snapshots but the newest `keep`, and then the files that no snapshot names. Removes no file while the
 * manifest of a snapshot cannot be read.
 */
export async function prune(folder: string, keep: number): Promise<{ removed: string[]; files: number }> {
  const { whole, damaged } = await listSnapshots(folder);
  const old = whole.slice(0, Math.max(0, whole.length - keep));
  for (const { name, folder: at } of old) {
    const aside = path.join(folder, snapshotsFolder, `${hidden}removed-${name}`);
    await rename(at, aside);
    await rm(aside, { recursive: true, force: true });
  }
  const removed = old.map(({ name }) => name);
  if (old.length === 0 || damaged.length > 0) return { removed, files: 0 };
  const named = new Set<string>();
  for (const snapshot of whole.slice(old.length))
    for await (const { sha256 } of readBlobList(snapshot)) named.add(sha256);
  let files = 0;
  for await (const file of storedBlobs(folder)) {
    if (named.has(path.basename(file))) continue;
    await rm(file, { force: true });
    files += 1;
  }
  return { removed, files };
}

async function* storedBlobs(folder: string): AsyncGenerator<string> {
  const at = path.join(folder, blobsFolder);
  for (const first of await readdir(at).catch(() => []))
    for (const second of await readdir(path.join(at, first)).catch(() => []))
      for (const name of (await readdir(path.join(at, first, second)).catch(() => [])).filter(isSha256))
        yield path.join(at, first, second, name);
}

/** @throws PlatformError BACKUP_DAMAGED if the list is not what was written. */
export async function* readBlobList({
  folder,
  manifest,
}: Snapshot): AsyncGenerator<{ sha256: string; sizeBytes: number }> {
  const file = path.join(folder, manifest.blobs.file);
  const problem = await stat(file).then(
    () => undefined,
    () => 'it is missing',
  );
  if (problem !== undefined) throw new PlatformError('BACKUP_DAMAGED', { file, problem });
  if ((await hashOf(createReadStream(file))) !== manifest.blobs.sha256)
    throw new PlatformError('BACKUP_DAMAGED', { file, problem: 'its sha256 is not that of the manifest' });
  for await (const line of createInterface({ input: createReadStream(file).pipe(createGunzip()) })) {
    const [sha256 = '', size] = line.split(' ');
    yield { sha256, sizeBytes: Number(size) };
  }
}
