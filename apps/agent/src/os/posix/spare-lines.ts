import { lstat, mkdir, open, rename, rm, statfs, symlink } from 'node:fs/promises';
import path from 'node:path';
import { startInodes } from '../mounts.ts';

/** With this much space for unprivileged users, no test write is needed. */
const plentyBytes = 2 ** 20;
/** The lines of a start, including the one that reports that the server is ready. */
const neededBytes = 64 * 1024;

/**
 * Without it, a full disk keeps a machine server from starting: it could not even log that it is ready. The file
 * becomes a link to one of the same name in `spareFolder`, in memory; a link needs no disk block. The old file becomes
 * `<file>.1`.
 *
 * @throws Error ENOSPC without inodes, which a link needs, too
 */
export async function makeRoom(file: string, spareFolder: string | undefined): Promise<'disk' | 'memory'> {
  await checkInodes(file);
  const isLink = (await lstat(file).catch(() => undefined))?.isSymbolicLink() ?? false;
  if (await takesLines(file)) {
    if (isLink) await rm(file, { force: true }).catch(() => {});
    return 'disk';
  }
  if (spareFolder === undefined) return 'disk';
  try {
    const spare = path.join(spareFolder, path.basename(file));
    await mkdir(spareFolder, { recursive: true, mode: 0o700 });
    await (await open(spare, 'a', 0o640)).close();
    if (!isLink) {
      const link = `${file}.link`;
      await rm(link, { force: true });
      await symlink(spare, link);
      await rename(file, `${file}.1`).catch(() => {}); // it may not exist
      await rename(link, file);
    }
    return 'memory';
  } catch {
    return 'disk';
  }
}

/** With too few, the server runs, but its line that it is ready is lost. */
async function checkInodes(file: string): Promise<void> {
  const found = await statfs(path.dirname(file)).catch(() => undefined);
  if (!found || found.files === 0 || found.ffree >= startInodes) return;
  const message = `${found.ffree} of ${found.files} inodes are free; a start needs ${startInodes}`;
  throw Object.assign(new Error(`ENOSPC: ${message}`), { code: 'ENOSPC', path: file });
}

async function takesLines(file: string): Promise<boolean> {
  const probe = `${file}.probe`;
  try {
    const { bavail, bsize } = await statfs(path.dirname(file));
    if (bavail * bsize >= plentyBytes) return true;
    // Some file systems reserve blocks for root, others report more than they have.
    await using handle = await open(probe, 'w', 0o600);
    await handle.writeFile(Buffer.alloc(neededBytes));
    await handle.sync();
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code !== 'ENOSPC' && code !== 'EDQUOT';
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}
