/** Content-addressed images, shared between jobs: a second training on the same dataset downloads nothing. */
import { chmod, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';

/** Only the runner's user may read an organization's images, not other users of this host. */
export const privateModes = { file: 0o600, folder: 0o700 } as const;

export interface ImageCache {
  /** Path of the file with this content; on a cache miss `fetch` writes and verifies it. */
  get(sha256: string, sizeBytes: number, fetch: (file: string) => Promise<void>): Promise<string>;
  /** Removes the least recently used files until the limit holds. @returns bytes removed. */
  trim(): Promise<number>;
}

/** @param wall - ms since 1970. */
export function imageCache(folder: string, limitBytes: number, wall: () => number): ImageCache {
  const underWay = new Map<string, Promise<string>>();
  const place = (sha256: string): string => path.join(folder, sha256.slice(0, 2), sha256);

  const load = async (sha256: string, sizeBytes: number, fetch: (file: string) => Promise<void>): Promise<string> => {
    const file = place(sha256);
    const stats = await stat(file).catch(() => undefined);
    // After a power failure a file can be shorter than it was written.
    if (stats?.size === sizeBytes) {
      const now = wall() / 1000;
      await utimes(file, now, now);
      return file;
    }
    await mkdir(path.dirname(file), { recursive: true, mode: privateModes.folder });
    const partial = `${file}.part`;
    try {
      await fetch(partial);
      await chmod(partial, privateModes.file);
      await rename(partial, file);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    return file;
  };

  return {
    get: (sha256, sizeBytes, fetch) => {
      const known = underWay.get(sha256);
      if (known) return known;
      const loading = load(sha256, sizeBytes, fetch).finally(() => underWay.delete(sha256));
      underWay.set(sha256, loading);
      return loading;
    },
    trim: async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
      const files: { file: string; size: number; used: number }[] = [];
      for (const entry of entries) {
        if (!entry.isFile()) continue;
        const file = path.join(entry.parentPath, entry.name);
        const { size, mtimeMs } = await stat(file);
        files.push({ file, size, used: mtimeMs });
      }
      let excess = files.reduce((sum, { size }) => sum + size, 0) - limitBytes;
      let removed = 0;
      for (const { file, size } of files.toSorted((a, b) => a.used - b.used)) {
        if (excess <= 0) break;
        await rm(file, { force: true });
        excess -= size;
        removed += size;
      }
      return removed;
    },
  };
}

/** Creates the folder if needed. Only the runner's user may enter it; the folder of another user stays as it is. */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, privateModes.folder).catch(() => {});
}
