import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { runFolder } from './starts-file.ts';

/** Where the lock of this root may lie instead when its disk takes nothing; undefined: nowhere, for who is not root. */
export async function spareLock(root: string, of: 'agent' | 'keeper'): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  try {
    await mkdir(runFolder, { recursive: true, mode: 0o700 });
    return path.join(runFolder, `${of}-${createHash('sha256').update(root).digest('hex').slice(0, 12)}.lock`);
  } catch {
    return undefined;
  }
}
