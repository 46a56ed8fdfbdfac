// Programs and files of the operating system, as the installation of the server uses them.
import { spawnSync } from 'node:child_process';
import { lstatSync, readlinkSync, renameSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { PlatformError } from '@platform/contract/errors/errors';
import { formatBytes } from '@platform/kit';

const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' };

/** Runs a program to its end. */
export function attempt(command: string, ...args: string[]): { code: number | null; text: string } {
  const done = spawnSync(command, args, { encoding: 'utf8', env, cwd: '/', maxBuffer: 2 ** 24 });
  const text = `${done.stdout ?? ''}${done.stderr ?? ''}${done.error ? done.error.message : ''}`.trim();
  return { code: done.status, text };
}

/** @returns its output. @throws Error with its output, PlatformError DISK_FULL */
export function must(command: string, ...args: string[]): string {
  const { code, text } = attempt(command, ...args);
  if (code === 0) return text;
  if (/No space left on device/i.test(text)) throw new PlatformError('DISK_FULL', { path: args.at(-1) ?? '' });
  throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${text}`);
}

export const systemctl = (...args: string[]): string => must('systemctl', ...args);

/** Flushes the file system that holds `file`. */
export const flush = (file: string): void => void must('sync', '-f', file);

/** Replaces a link atomically. */
export function switchLink(link: string, target: string): void {
  if (targetOf(link) === target) return;
  const fresh = `${link}.new`;
  rmSync(fresh, { force: true });
  symlinkSync(target, fresh);
  renameSync(fresh, link);
  flush(link.slice(0, link.lastIndexOf('/')));
}

/** The target of a link; undefined: there is none, or another kind of file. */
export function targetOf(link: string): string | undefined {
  return lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(link) : undefined;
}

/** @throws PlatformError DISK_FULL */
export function requireSpace(folder: string, bytes: number, what: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new PlatformError('DISK_FULL', { path: folder, what, needed: formatBytes(bytes), free: formatBytes(free) });
}

/** Bytes that a folder takes on its disk. */
export const diskUsage = (folder: string): number => Number(must('du', '-sk', folder).split('\t')[0]) * 1024;
