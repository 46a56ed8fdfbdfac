import { PlatformError } from '@platform/contract/errors/errors';
import type { Disk, FileSystem } from './ports.ts';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.');
const chunkBytes = 2 ** 20;

/**
 * Turns ENOSPC and EDQUOT into DISK_FULL, with the numbers of inodes where none is free; returns other errors
 * unchanged.
 *
 * @param path - the file that could not be written.
 * @param what - what the file is, for users.
 */
export async function fullDisk(files: FileSystem, error: unknown, path: string, what?: string): Promise<unknown> {
  if (!['ENOSPC', 'EDQUOT'].includes(String(codeOf(error)))) return error;
  const named = what === undefined ? path : `${path} (${what})`;
  const inodes = await files.inodes?.().catch(() => undefined);
  if (inodes?.free !== 0) return new PlatformError('DISK_FULL', { path: named }, error);
  const freeBytes = await files.freeBytes().catch(() => undefined);
  return new PlatformError(
    'DISK_FULL',
    {
      path: named,
      inodes: inodes.total,
      freeInodes: inodes.free,
      ...(freeBytes !== undefined && { freeSpace: `${Math.floor(freeBytes / 1e6)} MB` }),
    },
    error,
  );
}

/** Creates a folder and its parents, durably. */
export async function makeFolder(files: FileSystem, path: string): Promise<void> {
  if (path === '.' || (await files.stat(path))?.kind === 'folder') return;
  await makeFolder(files, parentOf(path));
  await files.mkdir(path);
  await files.syncFolder(parentOf(path));
}

/** Replaces a small file atomically: readers see the old content or the new one. Durable when it resolves. */
export async function replaceFile(
  files: FileSystem,
  path: string,
  bytes: Uint8Array,
  { mode = 0o600 }: { mode?: number } = {},
): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const file = await files.openWrite(temporary, { mode });
    try {
      await file.write(bytes);
      await file.sync(); // before the rename: otherwise the file may be empty after a power cut
    } finally {
      await file.close();
    }
    await files.rename(temporary, path);
  } catch (error) {
    await files.unlink(temporary).catch(() => {});
    throw error;
  }
  await files.syncFolder(parentOf(path));
}

/** Yields the file in chunks. @throws Error ENOENT if it does not exist */
export async function* chunksOf(files: FileSystem, path: string): AsyncGenerator<Uint8Array> {
  const file = await files.openRead(path);
  try {
    for (let at = 0; at < file.sizeBytes;) {
      const chunk = await file.read(at, chunkBytes);
      if (chunk.length === 0) return;
      at += chunk.length;
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

/** Reads a small file; undefined: it does not exist. */
export async function readFile(files: FileSystem, path: string): Promise<Uint8Array | undefined> {
  try {
    const file = await files.openRead(path);
    try {
      return await file.read(0, file.sizeBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** A Disk on top of a FileSystem. Serialises the writes of each file. */
export function fileDisk(files: FileSystem): Disk {
  const turns = new Map<string, Promise<unknown>>();
  const inTurn = <T>(path: string, work: () => Promise<T>): Promise<T> => {
    const before = turns.get(path) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(work);
    turns.set(path, mine);
    const forget = () => void (turns.get(path) === mine && turns.delete(path));
    mine.then(forget, forget);
    return mine;
  };
  const telling = async (path: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      throw await fullDisk(files, error, path);
    }
  };
  return {
    read: (path) => readFile(files, path),
    write: (path, bytes) =>
      inTurn(path, () =>
        telling(path, async () => {
          await makeFolder(files, parentOf(path));
          await replaceFile(files, path, bytes);
        }),
      ),
    append: (path, bytes) =>
      inTurn(path, () =>
        telling(path, async () => {
          await makeFolder(files, parentOf(path));
          const isNew = (await files.stat(path)) === undefined;
          const file = await files.openWrite(path, { mode: 0o600, append: true });
          try {
            await file.write(bytes);
            await file.sync();
          } finally {
            await file.close();
          }
          if (isNew) await files.syncFolder(parentOf(path));
        }),
      ),
    list: async (folder) => (await files.readdir(folder)).filter((name) => !name.endsWith('.tmp')),
    remove: (path) => inTurn(path, () => files.unlink(path)),
  };
}
