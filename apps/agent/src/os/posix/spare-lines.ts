import { lstat, mkdir, open, rename, rm, statfs, symlink } from 'node:fs/promises';
import path from 'node:path';

/** Of so many bytes that are free for everybody, nothing has to be tried. */
const plentyBytes = 2 ** 20;
/** A start's lines, with the one that says that the server is ready. */
const neededBytes = 64 * 1024;

/**
 * A full disk must not keep a machine server from starting: it would not get one line out, not even that it is ready. Then the file
 * becomes a link to one of the same name in `spareFolder`, in memory; a link needs no block of the disk. What was in it is `<file>.1`.
 */
export async function makeRoom(file: string, spareFolder: string | undefined): Promise<'disk' | 'memory'> {
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
      await rename(file, `${file}.1`).catch(() => {}); // there may be none
      await rename(link, file);
    }
    return 'memory';
  } catch {
    return 'disk';
  }
}

async function takesLines(file: string): Promise<boolean> {
  const probe = `${file}.probe`;
  try {
    const { bavail, bsize } = await statfs(path.dirname(file));
    if (bavail * bsize >= plentyBytes) return true;
    // Some file systems keep blocks for root, others say more than they have.
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
