import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

/** In memory and root-only: for files that must not survive a reboot. */
export const runFolder = '/run/platform';

/**
 * A path below `runFolder` for a file that belongs to `folder`; undefined on other platforms and for users other than
 * root.
 */
export async function inMemory(of: string, folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  try {
    await mkdir(runFolder, { recursive: true, mode: 0o700 });
    return path.join(runFolder, `${of}-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`);
  } catch {
    return undefined;
  }
}

/** Fallback path for the lock of a folder whose disk is full or broken; undefined if none is available. */
export async function spareLock(folder: string, of: string): Promise<string | undefined> {
  const name = await inMemory(of, folder);
  return name === undefined ? undefined : `${name}.lock`;
}
