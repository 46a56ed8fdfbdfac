import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { ManagedFiles, RestoreResult } from './managed-files.ts';
import { readPathState, restorePathState, type PathState } from './path-state.ts';

// Not in changes.json: `install` may write that file while the agent runs.
const recordFile = 'state/managed-files.json';

interface ManagedFile {
  path: string;
  before: PathState;
  /** SHA-256 of the content that the agent wrote last. */
  written: string;
}

/** @param root - folder of the agent, for the record. */
export function managedFilesOnDisk(root: string): ManagedFiles {
  let last: Promise<unknown> = Promise.resolve();
  const oneByOne = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
  return {
    write: (file, text) => oneByOne(() => writeFile(root, file, Buffer.from(text))),
    restore: (file) => oneByOne(() => restoreFile(root, file)),
    written: () => oneByOne(async () => (await readRecord(root)).map(({ path: file }) => file)),
  };
}

async function writeFile(root: string, file: string, bytes: Buffer): Promise<boolean> {
  const now = await readPathState(file);
  const record = await readRecord(root);
  const known = record.find(({ path: other }) => other === file);
  const written = hashOf(bytes);
  const isSame = now.kind === 'file' && now.content === bytes.toString('base64');
  if (isSame && (known === undefined || known.written === written)) return false;
  const entry = { path: file, before: known?.before ?? now, written };
  await writeRecord(root, [...record.filter((other) => other !== known), entry]);
  if (isSame) return false;
  await mkdir(path.dirname(file), { recursive: true });
  await atomicWrite(file, bytes, { mode: 0o644 });
  return true;
}

async function restoreFile(root: string, file: string): Promise<RestoreResult> {
  const record = await readRecord(root);
  const known = record.find(({ path: other }) => other === file);
  if (!known) return 'not-managed';
  const now = await readPathState(file);
  // A power cut between record and write leaves the state before; restoring it again is harmless.
  const isBefore = now.kind === known.before.kind && now.content === known.before.content;
  const isOurs = now.kind === 'file' && hashOf(Buffer.from(now.content, 'base64')) === known.written;
  if (isOurs && !isBefore) await restorePathState(file, known.before);
  await writeRecord(
    root,
    record.filter((other) => other !== known),
  );
  return isOurs || isBefore ? 'restored' : 'foreign';
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function readRecord(root: string): Promise<readonly ManagedFile[]> {
  const found = await readJson(path.join(root, recordFile)).catch(() => undefined);
  const files = (found as { files?: unknown } | undefined)?.files;
  return Array.isArray(files) ? (files as ManagedFile[]) : [];
}

const writeRecord = (root: string, files: readonly ManagedFile[]): Promise<void> =>
  atomicWrite(path.join(root, recordFile), `${JSON.stringify({ format: 1, files }, null, 2)}\n`, { mode: 0o600 });
