import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { ReportedFiles, RestoredFile, RestoreResult } from './managed-files.ts';
import { readPathState, restorePathState, type PathState } from './path-state.ts';

// Not in changes.json: `install` may write that file while the agent runs.
const recordFile = 'state/managed-files.json';

interface ManagedFile {
  path: string;
  before: PathState;
  /** SHA-256 of the content that the agent wrote last. */
  written: string;
}

interface ManagedRecord {
  files: readonly ManagedFile[];
  /** See `ReportedFiles.reported`. */
  reported: readonly RestoredFile[];
}

/**
 * One instance for each process: two would overwrite each other's record.
 *
 * @param root - folder of the agent, for the record.
 */
export function managedFilesOnDisk(root: string): ReportedFiles {
  let last: Promise<unknown> = Promise.resolve();
  const oneByOne = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
  return {
    write: (file, text) => oneByOne(() => writeFile(root, file, Buffer.from(text))),
    restore: (file, options) => oneByOne(() => restoreFile(root, file, options?.isReported ?? false)),
    written: () => oneByOne(async () => (await readRecord(root)).files.map(({ path: file }) => file)),
    reported: () => oneByOne(async () => (await readRecord(root)).reported),
    forgetReported: (files) => oneByOne(() => forgetReported(root, files)),
  };
}

async function writeFile(root: string, file: string, bytes: Buffer): Promise<boolean> {
  const now = await readPathState(file);
  const record = await readRecord(root);
  const known = record.files.find(({ path: other }) => other === file);
  const written = hashOf(bytes);
  const isSame = now.kind === 'file' && now.content === bytes.toString('base64');
  if (isSame && (known === undefined || known.written === written)) return false;
  const entry = { path: file, before: known?.before ?? now, written };
  const files = [...record.files.filter((other) => other !== known), entry];
  await writeRecord(root, { files, reported: withoutFile(record.reported, file) });
  if (isSame) return false;
  if (known && isForeign(known, now)) await keepCopy(file, now);
  await mkdir(path.dirname(file), { recursive: true });
  await atomicWrite(file, bytes, { mode: 0o644 });
  return true;
}

async function restoreFile(root: string, file: string, isReported: boolean): Promise<RestoreResult> {
  const record = await readRecord(root);
  const known = record.files.find(({ path: other }) => other === file);
  if (!known) return 'not-managed';
  const now = await readPathState(file);
  // A power cut between record and write leaves the state before; restoring it again is harmless.
  const isBefore = isSameState(now, known.before);
  const isOurs = isWritten(known, now);
  if (isOurs && !isBefore) await restorePathState(file, known.before);
  if (isForeign(known, now)) await keepCopy(file, known.before);
  const isRestored = isOurs || isBefore;
  await writeRecord(root, {
    files: record.files.filter((other) => other !== known),
    reported: [...withoutFile(record.reported, file), ...(isReported ? [{ file, isRestored }] : [])],
  });
  return isRestored ? 'restored' : 'foreign';
}

async function forgetReported(root: string, files: readonly string[]): Promise<void> {
  const record = await readRecord(root);
  const reported = record.reported.filter(({ file }) => !files.includes(file));
  if (reported.length < record.reported.length) await writeRecord(root, { ...record, reported });
}

const withoutFile = (reported: readonly RestoredFile[], file: string): readonly RestoredFile[] =>
  reported.filter((one) => one.file !== file);

const isSameState = (a: PathState, b: PathState): boolean => a.kind === b.kind && a.content === b.content;
const isWritten = ({ written }: ManagedFile, now: PathState): boolean =>
  now.kind === 'file' && hashOf(Buffer.from(now.content, 'base64')) === written;
const isForeign = (known: ManagedFile, now: PathState): boolean =>
  now.kind === 'file' && !isWritten(known, now) && !isSameState(now, known.before);

/** One of two contents of users that would be lost. apt and systemd ignore this suffix silently. */
async function keepCopy(file: string, { kind, content, mode }: PathState): Promise<void> {
  if (kind === 'file') await atomicWrite(`${file}.save`, Buffer.from(content, 'base64'), { mode });
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function readRecord(root: string): Promise<ManagedRecord> {
  const found = await readJson(path.join(root, recordFile)).catch(() => undefined);
  const { files, reported } = (found ?? {}) as { files?: unknown; reported?: unknown };
  return {
    files: Array.isArray(files) ? (files as ManagedFile[]) : [],
    reported: Array.isArray(reported) ? (reported as RestoredFile[]) : [],
  };
}

const writeRecord = (root: string, record: ManagedRecord): Promise<void> =>
  atomicWrite(path.join(root, recordFile), `${JSON.stringify({ format: 1, ...record }, null, 2)}\n`, { mode: 0o600 });
