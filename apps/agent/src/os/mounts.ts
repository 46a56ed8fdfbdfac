import { readFile, realpath, statfs } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FileSystemFacts } from './ports.ts';

/** A mounted file system, as in /proc/self/mountinfo. */
export interface Mount {
  mountPoint: string;
  /** Major and minor number. */
  device: string;
  options: readonly string[];
  /** ext4, overlay … */
  type: string;
  /** Options of the file system itself, such as upperdir of an overlay. */
  superOptions: readonly string[];
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));

const isBelow = (file: string, folder: string): boolean =>
  folder === '/' || file === folder || file.startsWith(`${folder}/`);

/** The mount that holds the file. If mounts lie over one another, the last one counts. Undefined: none is listed. */
export function mountOf(mountinfo: string, file: string): Mount | undefined {
  const all = mountinfo.split('\n').flatMap((line): Mount[] => {
    const [mounted = '', source = ''] = line.split(' - ');
    const [, , device, , mountPoint, options = ''] = mounted.split(' ');
    const [type = '', , superOptions = ''] = source.split(' ');
    if (device === undefined || mountPoint === undefined) return [];
    const lists = { options: options.split(','), superOptions: superOptions.split(',') };
    return [{ device, mountPoint: unescaped(mountPoint), type, ...lists }];
  });
  const holding = all.filter(({ mountPoint }) => isBelow(file, mountPoint));
  const longest = Math.max(0, ...holding.map(({ mountPoint }) => mountPoint.length));
  return holding.findLast(({ mountPoint }) => mountPoint.length === longest);
}

const memoryTypes = ['tmpfs', 'ramfs'];

/** Whether a boot loses what is written below the folder: it is in memory, or on an overlay whose upper layer is. */
export function isVolatile(mountinfo: string, folder: string): boolean {
  const mount = mountOf(mountinfo, folder);
  if (!mount || mount.type !== 'overlay') return memoryTypes.includes(mount?.type ?? '');
  const upper = mount.superOptions.find((option) => option.startsWith('upperdir='))?.slice('upperdir='.length);
  return upper !== undefined && memoryTypes.includes(mountOf(mountinfo, unescaped(upper))?.type ?? '');
}

/** The entry of an fstab that will hold the file. */
export function fstabEntryOf(
  fstab: string,
  file: string,
): { mountPoint: string; options: readonly string[] } | undefined {
  const all = fstab.split('\n').flatMap((line) => {
    const [source = '', mountPoint, , options] = line.trim().split(/\s+/);
    return source.startsWith('#') || mountPoint === undefined || !mountPoint.startsWith('/')
      ? []
      : [{ mountPoint: unescaped(mountPoint), options: (options ?? '').split(',') }];
  });
  return all
    .filter(({ mountPoint }) => isBelow(file, mountPoint))
    .toSorted((a, b) => b.mountPoint.length - a.mountPoint.length)[0];
}

/** Whether no program can be started there. `user` and `users` include noexec; of several options the last decides. */
export const isNoExecEntry = (options: readonly string[]): boolean => {
  const last = options.findLast((option) => ['exec', 'noexec', 'user', 'users'].includes(option));
  return last !== undefined && last !== 'exec';
};

/** The folder itself, or the nearest one above it that exists. */
async function existing(folder: string): Promise<string> {
  const found = await realpath(folder).catch(() => undefined);
  if (found !== undefined || path.dirname(folder) === folder) return found ?? folder;
  return existing(path.dirname(folder));
}

/** Reads about the file system that holds the folder, or will hold it. Undefined: it cannot be read. */
export async function readFileSystem(folder: string): Promise<FileSystemFacts | undefined> {
  const place = await existing(folder);
  const space = await statfs(place).catch(() => undefined);
  if (!space) return undefined;
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const mount = mountOf(mountinfo, place);
  return {
    mountPoint: mount?.mountPoint ?? '',
    isNoExec: mount?.options.includes('noexec') ?? false,
    isVolatile: isVolatile(mountinfo, place),
    freeBytes: space.bavail * space.bsize,
    // Some file systems, such as btrfs, have no fixed number.
    ...(space.files > 0 && { inodes: { total: space.files, free: space.ffree } }),
  };
}

/** A start of the machine server makes files: its outputs and its record. See RollingFile. */
export const startInodes = 4;

/** What is wrong and what to do, for a folder on a file system on which no program can be started. */
export function noexecProblem(folder: string, mountPoint: string): { what: string; remedy: string } {
  const { what, remedy } = new PlatformError('ROOT_NOEXEC', { folder, mountPoint });
  return { what, remedy };
}
