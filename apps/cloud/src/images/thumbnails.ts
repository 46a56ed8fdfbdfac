/** Small copies of images, in a folder of a limited size that may be deleted at any time. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { errorText, type Log } from '@platform/kit';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Decoded, Decoders } from './decoders.ts';

/** Longest edges in pixels, with their limits in bytes. */
const thumbnailEdges = { 200: 15_000, 800: 150_000 } as const;
export type ThumbnailEdge = keyof typeof thumbnailEdges;

export type Thumbnails = {
  /** An upright WebP copy. `failed`: the file cannot be decoded. */
  read(sha256: string, edge: ThumbnailEdge): Promise<Decoded<Uint8Array>>;
  /** Deletes the copies of files that are not stored any more. */
  forgetDeleted(): Promise<void>;
};

type Deps = {
  folder: string;
  blobs: Pick<BlobStore, 'pathOf' | 'head'>;
  decoders: Pick<Decoders, 'thumbnail'>;
  log: Log;
};

/**
 * @param mostBytes - of all copies; beyond it, those that were not read for the longest time are deleted.
 * @returns with the copies that the folder has, of before.
 */
export async function openThumbnails({ folder, blobs, decoders, log }: Deps, mostBytes: number): Promise<Thumbnails> {
  const remove = (name: string): Promise<void> => rm(fileOf(folder, name), { force: true }).catch(() => {});
  const kept = new LRUCache<string, number>({
    maxSize: mostBytes,
    sizeCalculation: (bytes) => Math.max(1, bytes),
    dispose: (_, name, reason) => {
      if (reason !== 'set') void remove(name);
    },
  });
  for (const { name, bytes } of await filesIn(folder)) kept.set(name, bytes);
  const running = new Map<string, Promise<Decoded<Uint8Array>>>();

  const make = async (sha256: string, edge: ThumbnailEdge, name: string): Promise<Decoded<Uint8Array>> => {
    const cached = await readWhole(fileOf(folder, name));
    const made: Decoded<Uint8Array> = cached
      ? { is: 'done', value: cached }
      : await decoders.thumbnail(blobs.pathOf(sha256), { edge, mostBytes: thumbnailEdges[edge] });
    if (made.is === 'failed') return made;
    try {
      if (!cached) await publish(fileOf(folder, name), made.value);
      kept.set(name, made.value.length);
    } catch (error) {
      log.warn('a small copy of an image cannot be kept', { error: errorText(error) });
    }
    return made;
  };
  return {
    read(sha256, edge) {
      const name = `${sha256}-${edge}.webp`;
      // Requests at the same time share one decoding.
      const work = running.get(name) ?? make(sha256, edge, name).finally(() => running.delete(name));
      running.set(name, work);
      return work;
    },
    async forgetDeleted() {
      const names = Array.from(kept.keys());
      for (const name of names) if (!(await blobs.head(name.slice(0, 64)))) kept.delete(name);
    },
  };
}

const fileOf = (folder: string, name: string): string => path.join(folder, name.slice(0, 2), name);

/** Complete or not there: a file that a power failure cut is made again. */
async function readWhole(file: string): Promise<Uint8Array | undefined> {
  try {
    const bytes = await readFile(file);
    return bytes.length > 12 && bytes.readUInt32LE(4) + 8 === bytes.length ? bytes : undefined;
  } catch {
    return undefined;
  }
}

async function publish(file: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(temporary, bytes, { mode: 0o600 });
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The copies of a folder, the oldest first; deletes all other files. */
async function filesIn(folder: string): Promise<{ name: string; bytes: number }[]> {
  const found: { name: string; bytes: number; time: number }[] = [];
  for (const place of await readdir(folder).catch(() => [])) {
    for (const name of await readdir(path.join(folder, place)).catch(() => [])) {
      const file = path.join(folder, place, name);
      const state = await stat(file).catch(() => undefined);
      if (!/^[0-9a-f]{64}-\d+\.webp$/.test(name)) await rm(file, { force: true, recursive: true });
      else if (state) found.push({ name, bytes: state.size, time: state.mtimeMs });
    }
  }
  return found.toSorted((a, b) => a.time - b.time);
}
