import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
import { atomicWrite } from '@platform/kit/node';
import type { Disk } from '../ports.ts';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** A full disk is told as such; everything else goes on unchanged. */
export function fullDisk(error: unknown, place: string): unknown {
  return codeOf(error) === 'ENOSPC' ? new PlatformError('DISK_FULL', { path: place }, error) : error;
}

async function orNothing<T>(work: Promise<T>, nothing: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return nothing;
    throw error;
  }
}

export function linuxDisk(root: string): Disk {
  const at = (file: string) => path.join(root, file);
  return {
    read: (file) => orNothing<Uint8Array | undefined>(readFile(at(file)), undefined),
    async write(file, bytes) {
      try {
        await mkdir(path.dirname(at(file)), { recursive: true, mode: 0o700 });
        await atomicWrite(at(file), bytes, { mode: 0o600 });
      } catch (error) {
        throw fullDisk(error, path.dirname(at(file)));
      }
    },
    async append(file, bytes) {
      try {
        await mkdir(path.dirname(at(file)), { recursive: true, mode: 0o700 });
        await using handle = await open(at(file), 'a', 0o600);
        await handle.appendFile(bytes);
        await handle.datasync();
      } catch (error) {
        throw fullDisk(error, path.dirname(at(file)));
      }
    },
    list: async (folder) => (await orNothing(readdir(at(folder)), [] as string[])).toSorted(),
    remove: (file) => rm(at(file), { force: true }),
  };
}
