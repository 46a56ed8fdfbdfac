// Runs programs on a separate small disk: a tmpfs in a mount namespace, which ordinary users may create in a user
// namespace.
import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, appendFileSync } from 'node:fs';
import path from 'node:path';

const namespaceArgs = process.getuid?.() === 0 ? ['-m'] : ['-Ucm', '--keep-caps'];

/** Some systems do not let ordinary users mount, even in their own namespace. */
export const canMount = (): boolean =>
  spawnSync('unshare', [...namespaceArgs, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

export const plain = ([command = '', ...args]: readonly string[]): { command: string; args: string[] } => ({
  command,
  args,
});

/** Wraps the program with a disk of this size at `folder`. */
export const onSmallDisk = (
  folder: string,
  mib: number,
  run: readonly string[],
): { command: string; args: string[] } => ({
  command: 'unshare',
  args: [
    ...namespaceArgs,
    'sh',
    '-c',
    `mount -t tmpfs -o size=${mib}m,mode=755 tmpfs "$0" && exec "$@"`,
    folder,
    ...run,
  ],
});

/** Fills the disk that `pid` sees at `folder` to the last byte. @returns a function that frees it again. */
export function fillDisk(pid: number, folder: string): () => void {
  const { fill, free } = diskFiller(pid, folder);
  fill();
  return free;
}

/** Like `fillDisk`. `fill` may be called again: what processes freed since is taken, too. */
export function diskFiller(pid: number, folder: string): { fill(): void; free(): void } {
  const seen = `/proc/${pid}/root${folder}`;
  const filler = path.join(seen, 'filler');
  return {
    fill() {
      const { bavail, bsize } = statfsSync(seen);
      try {
        appendFileSync(filler, Buffer.alloc(bavail * bsize));
      } catch (error) {
        // Its processes wrote, too, after the look: the disk is as full.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    free: () => rmSync(filler),
  };
}
