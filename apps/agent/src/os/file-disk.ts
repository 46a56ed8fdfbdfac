import { PlatformError } from '@platform/contract/errors';
import type { Disk, FileSystem } from './ports.ts';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.');
const chunkBytes = 2 ** 20;

/** A full disk is told as such; everything else goes on unchanged. */
/** @param path - of the file that had no room. @param what - what it is, for people. */
export const fullDisk = (error: unknown, path: string, what?: string): unknown =>
  ['ENOSPC', 'EDQUOT'].includes(String(codeOf(error)))
    ? new PlatformError('DISK_FULL', { path: what === undefined ? path : `${path} (${what})` }, error)
    : error;

/** Makes a folder and those above it, durable. */
export async function makeFolder(files: FileSystem, path: string): Promise<void> {
  if (path === '.' || (await files.stat(path))?.kind === 'folder') return;
  await makeFolder(files, parentOf(path));
  await files.mkdir(path);
  await files.syncFolder(parentOf(path));
}

/** Replaces a small file: the old content or the new one, never a part; durable when it resolves. */
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
      await file.sync(); // before the rename: else the new name may show an empty file after a power cut
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

/** The file in parts; none when it does not exist. */
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

/** The whole of a small file; undefined: there is none. */
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

/** Small files over the single steps. Writes of the same file come one after the other. */
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
      throw fullDisk(error, path);
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
