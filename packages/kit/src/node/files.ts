import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { readText } from './text-file.ts';

/**
 * Replaces `file` atomically: after a power failure it has the old or the new content, never a part. The folder must
 * exist. `mode` and `owner` apply even if the old file had others. A link at this path is replaced, not followed.
 */
export async function atomicWrite(
  file: string,
  bytes: string | Uint8Array,
  { mode = 0o644, owner }: { mode?: number; owner?: { uid: number; gid: number } | undefined } = {},
): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await using handle = await open(temporary, 'wx', mode);
    await handle.writeFile(bytes);
    await handle.chmod(mode); // the umask must not restrict the mode
    if (owner) await handle.chown(owner.uid, owner.gid);
    await handle.sync();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(path.dirname(file));
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return; // Windows cannot open a folder; NTFS journals the rename
  await using handle = await open(folder, 'r');
  await handle.sync();
}

/** The file's JSON value; undefined if the file does not exist. Throws if it cannot be read or is not JSON. */
export async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${file} is not valid JSON`, { cause: error });
  }
}
