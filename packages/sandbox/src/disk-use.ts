import { lstat, opendir } from 'node:fs/promises';
import path from 'node:path';

export interface DiskUse {
  readonly bytes: number;
  /** Number of files, folders and other directory entries. */
  readonly entries: number;
}

const atOnce = 256;

/**
 * Counts everything below the folder, by file length; does not follow links. Stops above the limits: a process can fill
 * a folder faster than this reads it.
 */
export async function diskUse(folder: string, most: DiskUse): Promise<DiskUse> {
  let bytes = 0;
  let entries = 0;
  const open = [folder];
  const sizeOf = async (file: string): Promise<number> => (await lstat(file).catch(() => undefined))?.size ?? 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const reading = await opendir(at, { bufferSize: 1024 }).catch(() => undefined);
    if (!reading) continue; // removed meanwhile, or unreadable for its owner
    let files: string[] = [];
    const measure = async (): Promise<void> => {
      for (const size of await Promise.all(files.map(sizeOf))) bytes += size;
      files = [];
    };
    for await (const entry of reading) {
      entries++;
      if (entry.isDirectory()) open.push(path.join(at, entry.name));
      else files.push(path.join(at, entry.name));
      if (files.length >= atOnce) await measure();
      if (bytes > most.bytes || entries > most.entries) return { bytes, entries };
    }
    await measure();
    if (bytes > most.bytes) return { bytes, entries };
  }
  return { bytes, entries };
}
