import { existsSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';

const names = ['cloud', 'release-keys'];

/** Folders of one disk. */
export interface Swapped {
  /** The folders that are to be in use. */
  readonly fresh: string;
  readonly data: string;
  /** Receives what was in use; empty before the first try. */
  readonly replaced: string;
}

/** Puts each restored folder into use, and the one before it aside. Can be repeated after an interruption anywhere. */
export function swapFolders({ fresh, data, replaced }: Swapped, rename: typeof renameSync = renameSync): void {
  mkdirSync(replaced, { recursive: true, mode: 0o700 });
  for (const name of names) {
    const [from, to, before] = [path.join(fresh, name), path.join(data, name), path.join(replaced, name)];
    if (!existsSync(from)) continue;
    if (existsSync(to)) rename(to, before);
    rename(from, to);
  }
}
