import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';

export interface DiskUse {
  readonly bytes: number;
  /** Files, folders and whatever else has a name. */
  readonly entries: number;
}

/** Of everything below the folder, by the length of files; links are not followed. Stops counting above the limits. */
export async function diskUse(folder: string, most: DiskUse): Promise<DiskUse> {
  let bytes = 0;
  let entries = 0;
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      const file = path.join(at, entry.name);
      entries++;
      if (entry.isDirectory()) open.push(file);
      else bytes += (await lstat(file).catch(() => undefined))?.size ?? 0;
      if (bytes > most.bytes || entries > most.entries) return { bytes, entries };
    }
  }
  return { bytes, entries };
}
