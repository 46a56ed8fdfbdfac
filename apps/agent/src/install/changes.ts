import { lstat, mkdir, readFile, readlink, rm, symlink, rename } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';

const changesFile = 'state/changes.json';

/** The previous state of a path; `none`: it did not exist. */
interface Before {
  kind: 'file' | 'link' | 'none';
  /** The content in base64, or the target of the link. */
  content: string;
  mode: number;
}

/** Everything that was changed outside the root, so that uninstalling can restore it. */
export interface Changes {
  format: 1;
  credentialsFile: string;
  unitFile: string;
  /** Oldest first; a path that changed twice has its first state. */
  paths: { path: string; before: Before }[];
}

export async function readChanges(root: string): Promise<Changes | undefined> {
  const found = (await readJson(path.join(root, changesFile)).catch(() => undefined)) as Partial<Changes> | undefined;
  return found?.format === 1 && Array.isArray(found.paths) && typeof found.unitFile === 'string'
    ? (found as Changes)
    : undefined;
}

/** Records the state of `file` before the first change. Durable when it resolves. */
export async function recordBefore(root: string, changes: Changes, file: string): Promise<Changes> {
  if (changes.paths.some(({ path: known }) => known === file)) return changes;
  const next = { ...changes, paths: [...changes.paths, { path: file, before: await lookAt(file) }] };
  await atomicWrite(path.join(root, changesFile), `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 });
  return next;
}

async function lookAt(file: string): Promise<Before> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSymbolicLink()) return { kind: 'link', content: await readlink(file), mode: 0 };
  if (found?.isFile()) {
    return { kind: 'file', content: (await readFile(file)).toString('base64'), mode: found.mode & 0o7777 };
  }
  return { kind: 'none', content: '', mode: 0 };
}

/** Restores the state before the installation. */
export async function restore({ path: file, before }: Changes['paths'][number]): Promise<void> {
  if (before.kind === 'none') return rm(file, { force: true });
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
