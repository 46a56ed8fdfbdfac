import { lstat, opendir } from 'node:fs/promises';
import path from 'node:path';

export interface DiskUse {
  readonly bytes: number;
  /** Files, folders and whatever else has a name. */
  readonly entries: number;
}

const atOnce = 256;

/**
 * Of everything below the folder, by the length of files; links are not followed. Stops counting above the limits: a folder may
 * be filled faster than it is read.
 */
export async function diskUse(folder: string, most: DiskUse): Promise<DiskUse> {
  let bytes = 0;
  let entries = 0;
  const open = [folder];
  const sizeOf = async (file: string): Promise<number> => (await lstat(file).catch(() => undefined))?.size ?? 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const reading = await opendir(at, { bufferSize: 1024 }).catch(() => undefined);
    if (!reading) continue; // removed meanwhile, or closed to its owner
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
