/** Checkpoints of training scripts: one folder per job, which the attempts of the job on this host share. */
import { mkdir, readdir, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '@platform/sandbox/removal';
import { privateModes } from './cache.ts';

/** A job whose end this runner did not see, for example because another runner finished it, is forgotten then. */
export const keptCheckpointMs = 7 * 24 * 3_600_000;

export interface CheckpointStore {
  /**
   * Runs `use` with the folder of the job. Only one attempt of a job has it at a time: an attempt that lost its lease
   * may still be ending.
   */
  use<T>(jobId: string, use: (folder: string) => Promise<T>): Promise<T>;
  /** Call it when the job is over. Waits for an attempt that still uses them. */
  remove(jobId: string): Promise<void>;
  /** Removes those that no attempt used for `keptCheckpointMs`. @returns their number. */
  trim(): Promise<number>;
}

/** @param wall - ms since 1970. */
export function checkpointStore(root: string, wall: () => number): CheckpointStore {
  const inUse = new Map<string, Promise<unknown>>();
  // Different IDs never share a folder, whatever characters they have.
  const folderOf = (jobId: string): string => path.join(root, `job-${encodeURIComponent(jobId)}`);
  const markUsed = async (folder: string): Promise<void> => {
    const now = wall() / 1000;
    await utimes(folder, now, now);
  };
  const used = async <T>(folder: string, use: (folder: string) => Promise<T>): Promise<T> => {
    // The folders inside belong to the users of their sandboxes.
    await mkdir(root, { recursive: true, mode: privateModes.folder });
    await mkdir(folder, { recursive: true });
    await markUsed(folder);
    try {
      return await use(folder);
    } finally {
      await markUsed(folder);
    }
  };
  return {
    use: (jobId, use) => {
      const folder = folderOf(jobId);
      const before = inUse.get(folder) ?? Promise.resolve();
      const running = before.then(() => used(folder, use));
      const settled = running.then(
        () => undefined,
        () => undefined,
      );
      inUse.set(folder, settled);
      void settled.then(() => inUse.get(folder) === settled && inUse.delete(folder));
      return running;
    },
    remove: async (jobId) => {
      const folder = folderOf(jobId);
      await inUse.get(folder);
      await removeTree(folder);
    },
    trim: async () => {
      let removed = 0;
      for (const name of await readdir(root).catch(() => [])) {
        const folder = path.join(root, name);
        if (inUse.has(folder)) continue;
        const stats = await stat(folder).catch(() => undefined);
        if (!stats || wall() - stats.mtimeMs <= keptCheckpointMs) continue;
        await removeTree(folder);
        removed++;
      }
      return removed;
    },
  };
}
