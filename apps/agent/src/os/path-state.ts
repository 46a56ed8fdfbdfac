import { lstat, mkdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite } from '@platform/kit/node';
import { errorCodeOf } from './file-problem.ts';

/** State of a path; `none`: it does not exist. */
export interface PathState {
  kind: 'file' | 'link' | 'none';
  /** The content in base64, or the target of the link. */
  content: string;
  mode: number;
}

export async function readPathState(file: string): Promise<PathState> {
  const found = await lstat(file).catch((error: unknown) => {
    // Any other error must not look like a file that is not there: its content would be lost.
    if (['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error))) return undefined;
    throw error;
  });
  if (found?.isSymbolicLink()) return { kind: 'link', content: await readlink(file), mode: 0 };
  if (found?.isFile()) {
    return { kind: 'file', content: (await readFile(file)).toString('base64'), mode: found.mode & 0o7777 };
  }
  return { kind: 'none', content: '', mode: 0 };
}

export async function restorePathState(file: string, before: PathState): Promise<void> {
  // A read-only file system refuses to remove even what does not exist.
  if (before.kind === 'none') return (await readPathState(file)).kind === 'none' ? undefined : rm(file);
  if (before.kind === 'link') return placeLink(file, before.content);
  await atomicWrite(file, Buffer.from(before.content, 'base64'), { mode: before.mode });
}

/** Replaces an existing file atomically. */
export async function placeLink(file: string, target: string): Promise<void> {
  const temporary = `${file}.tmp`;
  await mkdir(path.dirname(file), { recursive: true });
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, file);
}
