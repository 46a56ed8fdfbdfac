import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

/** In memory, root's alone: what does not outlive the machine's present start. */
export const runFolder = '/run/platform';

/** A name below `runFolder` for what belongs to a folder; undefined: there is no such place, or only root may use it. */
export async function inMemory(of: string, folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  try {
    await mkdir(runFolder, { recursive: true, mode: 0o700 });
    return path.join(runFolder, `${of}-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`);
  } catch {
    return undefined;
  }
}

/** Where the lock of a folder may lie instead when its disk takes nothing; undefined: nowhere. */
export async function spareLock(folder: string, of: string): Promise<string | undefined> {
  const name = await inMemory(of, folder);
  return name === undefined ? undefined : `${name}.lock`;
}
