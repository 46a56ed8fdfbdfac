import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { type BlobStore, isSha256, type PutOptions, type StoredBlob } from './blob-store.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** Operations that write a file so that it survives a power failure. */
export type Disk = {
  create(
    file: string,
  ): Promise<{ write(bytes: Uint8Array): Promise<void>; sync(): Promise<void>; close(): Promise<void> }>;
  /** Creates the folders of `to`, moves the file there and syncs the move. */
  publish(from: string, to: string): Promise<void>;
  remove(file: string): Promise<void>;
};

export const localDisk: Disk = {
  async create(file) {
    const handle = await open(file, 'wx', 0o600);
    return {
      async write(bytes) {
        for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done)).bytesWritten;
      },
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  async publish(from, to) {
    const folder = path.dirname(to);
    const made = await mkdir(folder, { recursive: true });
    await rename(from, to);
    await syncFolder(folder);
    if (made)
      for (let at = folder; at !== path.dirname(made); at = path.dirname(at)) await syncFolder(path.dirname(at));
  },
  remove: (file) => rm(file, { force: true }),
};

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync();
  await handle.close();
}

function fileOf(folder: string, sha256: string): string {
  if (!isSha256(sha256)) throw invalidArgument('sha256', sha256, '64 lower-case hex digits');
  return path.join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

/** Writes the bytes to a new file, within the limit and with the expected hash. */
async function writeHashed(
  disk: Disk,
  file: string,
  from: AsyncIterable<Uint8Array>,
  { limitBytes, sha256: expected }: PutOptions,
): Promise<StoredBlob> {
  const hash = createHash('sha256');
  const handle = await disk.create(file);
  let sizeBytes = 0;
  try {
    for await (const chunk of from) {
      sizeBytes += chunk.length;
      if (limitBytes !== undefined && sizeBytes > limitBytes) throw new PlatformError('BLOB_TOO_LARGE', { limitBytes });
      hash.update(chunk);
      await handle.write(chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  const sha256 = hash.digest('hex');
  if (expected !== undefined && expected !== sha256)
    throw new PlatformError('HASH_MISMATCH', { wantSha256: expected, gotSha256: sha256 });
  return { sha256, sizeBytes };
}

/** Makes a file young. @returns whether it exists. */
async function refresh(file: string): Promise<boolean> {
  // Uses the clock that stamps new files, whatever clock the server has.
  const now = systemClock.wall() / 1000;
  return absentAsFalse(utimes(file, now, now).then(() => true));
}

async function sizeOf(file: string): Promise<{ sizeBytes: number } | undefined> {
  const found = await absentAsFalse(stat(file));
  return found ? { sizeBytes: found.size } : undefined;
}

/**
 * Blobs as files `ab/cd/<sha256>` below `folder`. Incomplete files are in `tmp/` and are deleted when the store is
 * opened.
 */
export async function openDiskBlobs(folder: string, disk: Disk = localDisk): Promise<BlobStore> {
  const incomplete = path.join(folder, 'tmp');
  await mkdir(incomplete, { recursive: true });
  for (const name of await readdir(incomplete)) await rm(path.join(incomplete, name), { force: true });
  const serialized = oneAtATime();

  return {
    async put(from, options = {}) {
      const temporary = path.join(incomplete, randomUUID());
      try {
        const blob = await writeHashed(disk, temporary, from, options);
        const file = fileOf(folder, blob.sha256);
        // If two writers store the same bytes, the second finds the file of the first.
        await serialized(blob.sha256, async () => {
          if (!(await refresh(file))) await disk.publish(temporary, file);
        });
        return blob;
      } catch (error) {
        if (isFull(error)) throw new PlatformError('DISK_FULL', { path: folder }, error);
        throw error;
      } finally {
        await disk.remove(temporary);
      }
    },
    async checkWritable() {
      const file = path.join(incomplete, `check-${randomUUID()}`);
      const handle = await disk.create(file);
      await handle.close();
      await disk.remove(file);
    },
    head: async (sha256) => sizeOf(fileOf(folder, sha256)),
    async get(sha256, range) {
      const file = fileOf(folder, sha256);
      if (!(await sizeOf(file))) throw new PlatformError('BLOB_MISSING', { sha256 });
      return createReadStream(file, range);
    },
    pathOf: (sha256) => fileOf(folder, sha256),
    touch: (sha256) => serialized(sha256, async () => refresh(fileOf(folder, sha256))),
    async list(prefix) {
      const folders = await absentAsFalse(readdir(path.join(folder, prefix)));
      const found: string[] = [];
      for (const name of folders || [])
        found.push(...(await readdir(path.join(folder, prefix, name))).filter(isSha256));
      return found;
    },
    deleteStoredBefore: (sha256, before) =>
      serialized(sha256, async () => {
        const file = fileOf(folder, sha256);
        const found = await absentAsFalse(stat(file));
        if (!found || found.mtimeMs >= before) return false;
        await disk.remove(file);
        return true;
      }),
    delete: async (sha256) => disk.remove(fileOf(folder, sha256)),
  };
}

async function absentAsFalse<T>(work: Promise<T>): Promise<T | false> {
  try {
    return await work;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
    return false;
  }
}

/** Serializes work on a file. No other process writes into this folder (`lockFolder`). */
function oneAtATime(): <T>(sha256: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (sha256, work) => {
    const done = (last.get(sha256) ?? Promise.resolve()).then(work, work);
    last.set(sha256, done);
    try {
      return await done;
    } finally {
      if (last.get(sha256) === done) last.delete(sha256);
    }
  };
}

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(String((error as { code?: unknown }).code));
