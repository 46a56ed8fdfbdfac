import { mkdir, open, readdir, readlink, rename, rmdir, lstat, statfs, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { FileSystem, ReadableFile, WritableFile } from '../ports.ts';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

async function unless<T>(codes: readonly string[], nothing: T, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(String(codeOf(error)))) return nothing;
    throw error;
  }
}

/** The folder `root` of this machine. */
export function posixFileSystem(root: string): FileSystem {
  const at = (name: string) => path.join(root, name);
  return {
    async mkdir(name) {
      await unless(['EEXIST'], undefined, mkdir(at(name), { mode: 0o755 }));
    },

    openWrite: (name, how) => writableAt(at(name), how),
    openRead: (name) => readableAt(at(name)),

    async syncFolder(name) {
      if (process.platform === 'win32') return; // Windows cannot open a folder; NTFS journals its entries
      await using handle = await open(at(name), 'r');
      await handle.sync();
    },

    rename: (from, to) => rename(at(from), at(to)),
    symlink: (target, name) => symlink(target, at(name)),
    readlink: (name) => unless<string | undefined>(['ENOENT', 'EINVAL', 'ENOTDIR'], undefined, readlink(at(name))),
    unlink: (name) => unless(['ENOENT', 'ENOTDIR'], undefined, unlink(at(name))),
    rmdir: (name) => unless(['ENOENT', 'ENOTDIR'], undefined, rmdir(at(name))),
    readdir: async (name) => (await unless(['ENOENT', 'ENOTDIR'], [], readdir(at(name)))).toSorted(),

    async stat(name) {
      const s = await unless(['ENOENT', 'ENOTDIR'], undefined, lstat(at(name)));
      if (!s) return undefined;
      return {
        kind: s.isSymbolicLink() ? 'link' : s.isDirectory() ? 'folder' : 'file',
        sizeBytes: s.size,
        mark: `${s.size}/${s.mtimeMs}/${s.ino}`,
        file: String(s.ino),
        changedWall: s.mtimeMs,
      };
    },

    async freeBytes() {
      const { bavail, bsize } = await statfs(root);
      return bavail * bsize;
    },

    async inodes() {
      const { files, ffree } = await statfs(root);
      return files > 0 ? { total: files, free: ffree } : undefined; // some, such as btrfs, have no fixed number
    },
  };
}

async function writableAt(
  file: string,
  { mode, append = false }: { mode: number; append?: boolean },
): Promise<WritableFile> {
  const handle = await open(file, append ? 'a' : 'w', mode);
  try {
    // The umask or an earlier file may have set another mode. Checked first: chmod writes to the disk even without a
    // change.
    if (((await handle.stat()).mode & 0o7777) !== mode) await handle.chmod(mode);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    write: async (bytes) => handle.appendFile(bytes),
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

async function readableAt(file: string): Promise<ReadableFile> {
  const handle = await open(file, 'r');
  const { size } = await handle.stat();
  return {
    sizeBytes: size,
    async read(from, length) {
      const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - from)));
      let had = 0;
      while (had < buffer.length) {
        const { bytesRead } = await handle.read(buffer, had, buffer.length - had, from + had);
        if (bytesRead === 0) break; // the file was truncated in the meantime
        had += bytesRead;
      }
      return buffer.subarray(0, had);
    },
    close: () => handle.close(),
  };
}
