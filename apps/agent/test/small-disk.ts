// A small file system that is full or read-only when a test wants it, without a device.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statfsSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const isRoot = process.getuid?.() === 0;
const namespace = isRoot ? ['-m'] : ['-Ucm', '--keep-caps'];
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
/** Some systems do not let ordinary users mount, even in their own namespace. */
export const skipWithoutMounts = canMount ? false : 'no right to mount';

/**
 * Mounts a file system of 64 KB in a namespace of its own.
 *
 * @param folders - absolute; each gets one
 */
export async function smallDisks(folders: readonly string[]) {
  const mounts =
    'for at; do mkdir -p "$at" && mount -t tmpfs -o size=64k,mode=755 tmpfs "$at"; done; echo mounted; exec cat';
  // The input ends with this process, and so does the namespace.
  const holder = spawn('unshare', [...namespace, 'sh', '-c', mounts, 'sh', ...folders], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  /** The same place for this process. */
  const inside = (folder: string): string => `/proc/${holder.pid}/root${folder}`;
  const enter = ['-t', String(holder.pid), '-m', ...(isRoot ? [] : ['-U', '--preserve-credentials'])];
  const mount = (...args: string[]): void => {
    const { status, stderr } = spawnSync('nsenter', [...enter, 'mount', ...args], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  const filler = (folder: string): string => path.join(inside(folder), 'filler');
  return {
    inside,
    setReadOnly: (folder: string, isReadOnly: boolean): void =>
      mount('-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, folder),
    fill(folder: string): void {
      const { bavail, bsize } = statfsSync(inside(folder));
      writeFileSync(filler(folder), Buffer.alloc(bavail * bsize));
    },
    free: (folder: string): void => truncateSync(filler(folder), 0),
    async [Symbol.asyncDispose]() {
      const exit = once(holder, 'exit');
      holder.kill('SIGKILL');
      await exit;
    },
  };
}
