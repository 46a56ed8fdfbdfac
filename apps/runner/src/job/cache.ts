/** Pictures by content, shared between jobs: a second training of the same dataset downloads nothing. */
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';

export interface PictureCache {
  /** Path of the file with this content; `fetch` is asked to write and verify it when it is not here. */
  get(sha256: string, sizeBytes: number, fetch: (file: string) => Promise<void>): Promise<string>;
  /** Removes what was not used for longest until the limit holds. @returns bytes removed. */
  trim(): Promise<number>;
}

/** @param wall - ms since 1970. */
export function pictureCache(folder: string, limitBytes: number, wall: () => number): PictureCache {
  const underWay = new Map<string, Promise<string>>();
  const place = (sha256: string): string => path.join(folder, sha256.slice(0, 2), sha256);

  const load = async (sha256: string, sizeBytes: number, fetch: (file: string) => Promise<void>): Promise<string> => {
    const file = place(sha256);
    const found = await stat(file).catch(() => undefined);
    // A power cut may leave a file shorter than it was written.
    if (found?.size === sizeBytes) {
      const now = wall() / 1000;
      await utimes(file, now, now);
      return file;
    }
    await mkdir(path.dirname(file), { recursive: true });
    const partial = `${file}.part`;
    try {
      await fetch(partial);
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
