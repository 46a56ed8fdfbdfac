import { statfsSync } from 'node:fs';
import path from 'node:path';

const problems: Readonly<Record<string, string>> = {
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied; lsattr shows whether it is immutable',
  EMFILE: 'this process has reached its limit of open files',
  ENFILE: 'this machine has reached its limit of open files',
  EIO: 'the disk reports an error',
};

export const errorCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** Why a file could not be read or written, as a clause for users. Without names of temporary files. */
export function fileProblem(error: unknown): string {
  const code = errorCodeOf(error);
  const inodes = code === 'ENOSPC' ? missingInodes(error) : undefined;
  if (inodes !== undefined) return inodes;
  const text = error instanceof Error ? error.message : String(error);
  return problems[code] ?? (text.startsWith(`${code}: `) ? (text.split(',')[0] ?? text) : text);
}

/** ENOSPC means no space or no inodes. Undefined: inodes are free, or their number is unknown. */
export function missingInodes(error: unknown): string | undefined {
  const { path: file } = error as NodeJS.ErrnoException;
  if (file === undefined || !path.isAbsolute(file)) return undefined;
  try {
    const { files, ffree, bavail, bsize } = statfsSync(path.dirname(file));
    if (files === 0 || ffree > 0) return undefined;
    return `no inodes are free on its disk (all ${files} are in use, ${Math.floor((bavail * bsize) / 1e6)} MB are free)`;
  } catch {
    return undefined;
  }
}

/** What the machine lacked, if that is the cause: room for files (space, inodes, quota), or file descriptors. */
export function lackingResource(error: unknown): 'disk' | 'files' | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    const code = errorCodeOf(one);
    if (['ENOSPC', 'EDQUOT', 'DISK_FULL'].includes(code)) return 'disk';
    if (['EMFILE', 'ENFILE'].includes(code)) return 'files';
  }
  return undefined;
}

/** Adds the path, which errors of a full disk lack. */
export async function namingFile<T>(file: string, verb: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${file} cannot be ${verb}: ${fileProblem(error)}`, { cause: error });
  }
}
