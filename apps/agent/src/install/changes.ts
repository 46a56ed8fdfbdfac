import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import { readPathState, type PathState } from '../os/path-state.ts';

const changesFile = 'state/changes.json';

/** Everything that was changed outside the root, so that uninstalling can restore it. */
export interface Changes {
  format: 1;
  credentialsFile: string;
  unitFile: string;
  /** Oldest first; a path that changed twice has its first state. */
  paths: { path: string; before: PathState }[];
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
  const next = { ...changes, paths: [...changes.paths, { path: file, before: await readPathState(file) }] };
  await writeChanges(root, next);
  return next;
}

/** Durable when it resolves. */
export async function writeChanges(root: string, changes: Changes): Promise<void> {
  const file = path.join(root, changesFile);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await atomicWrite(file, `${JSON.stringify(changes, null, 2)}\n`, { mode: 0o600 });
}
