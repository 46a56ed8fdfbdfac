import { systemClock } from '@platform/kit/node';
import { posixFileSystem } from '../posix/file-system.ts';
import { readFile } from '../file-disk.ts';
import type { FileSystem } from '../ports.ts';

const mark = 'link: ';
const longestLink = 1_000;
const renameTries = 20;
const renameMs = 100;

/**
 * Uses the POSIX code except for links: Windows lets few users create them, so a link is a small file that holds its
 * target. They are replaced by rename like all others.
 */
export function windowsFileSystem(root: string): FileSystem {
  const plain = posixFileSystem(root);
  return {
    ...plain,
    /** Retries: virus scanners and indexers keep new files open for a moment. */
    async rename(from, to) {
      for (let left = renameTries; ; left--) {
        try {
          return await plain.rename(from, to);
        } catch (error) {
          const code = error instanceof Error && 'code' in error ? String(error.code) : '';
          if (left <= 1 || !['EPERM', 'EACCES', 'EBUSY'].includes(code)) throw error;
        }
        await systemClock.sleep(renameMs);
      }
    },
    async symlink(target, path) {
      if ((await plain.stat(path)) !== undefined) throw Object.assign(new Error(`EEXIST: ${path}`), { code: 'EEXIST' });
      const file = await plain.openWrite(path, { mode: 0o644 });
      try {
        await file.write(new TextEncoder().encode(`${mark}${target}\n`));
        await file.sync();
      } finally {
        await file.close();
      }
    },
    async readlink(path) {
      const seen = await plain.stat(path);
      if (seen?.kind !== 'file' || seen.sizeBytes > longestLink) return undefined;
      const text = new TextDecoder().decode(await readFile(plain, path));
      return text.startsWith(mark) ? text.slice(mark.length).trim() : undefined;
    },
  };
}
