import { oneAtATime } from '@platform/kit';
import { createHash } from 'node:crypto';
import { mkdir, rename, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { ReportedFiles, RestoredFile, RestoreResult } from './managed-files.ts';
import { namingFile } from './file-problem.ts';
import { readPathState, restorePathState, type PathState } from './path-state.ts';

// Not in changes.json: `install` may write that file while the agent runs.
const recordFile = 'state/managed-files.json';

interface ManagedFile {
  path: string;
  before: PathState;
  /** SHA-256 of the content that the agent wrote last. */
  written: string;
  /** Set while a write may be incomplete: the hash of the content that it replaces; empty: the agent wrote none. */
  earlier?: string;
  /** The topmost folder that was not there before. */
  folder?: string;
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
  const oneByOne = oneAtATime();
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
  if (isSame && (known === undefined || (known.written === written && known.earlier === undefined))) return false;
  const isFirst = known === undefined || isNeverWritten(known, now);
  const before = isFirst ? now : known.before;
  const made = known?.folder ?? (await missingFolder(path.dirname(file)));
  const folder = made === undefined ? {} : { folder: made };
  const note = (entry: ManagedFile): Promise<void> =>
    writeRecord(root, {
      files: [...record.files.filter((other) => other !== known), entry],
      reported: withoutFile(record.reported, file),
    });
  if (!isSame) {
    if (isFirst) await keepOther(file, known, now);
    // A write that fails must not make this agent's own earlier content look like that of a user.
    await note({ path: file, before, written, ...folder, earlier: isFirst ? '' : earlierOf(known, now) });
    if (!isFirst && isForeign(known, now)) await keepCopy(file, now);
    await mkdir(path.dirname(file), { recursive: true });
    await atomicWrite(file, bytes, { mode: 0o644 });
  }
  await note({ path: file, before, written, ...folder });
  return !isSame;
}

async function restoreFile(root: string, file: string, isReported: boolean): Promise<RestoreResult> {
  const record = await readRecord(root);
  const known = record.files.find(({ path: other }) => other === file);
  if (!known) return 'not-managed';
  const now = await readPathState(file);
  // A power cut between record and write leaves the state before; restoring it again is harmless.
  const isBefore = isSameState(now, known.before);
  const isOwn = isOurs(known, now);
  if (isOwn && !isBefore) await restorePathState(file, known.before);
  if (known.folder !== undefined) await removeEmptyFolders(path.dirname(file), known.folder);
  const isUntouched = !isBefore && isNeverWritten(known, now);
  if (!isOwn) await keepOther(file, known, now);
  const isRestored = isOwn || isBefore;
  await writeRecord(root, {
    files: record.files.filter((other) => other !== known),
    reported: [...withoutFile(record.reported, file), ...(isReported && !isUntouched ? [{ file, isRestored }] : [])],
  });
  if (isUntouched) return 'not-managed';
  return isRestored ? 'restored' : 'foreign';
}

/** The topmost folder above a file that does not exist; undefined: all exist. */
async function missingFolder(folder: string): Promise<string | undefined> {
  const exists = await stat(folder).then(
    () => true,
    () => false,
  );
  if (exists || folder === path.dirname(folder)) return undefined;
  return (await missingFolder(path.dirname(folder))) ?? folder;
}

/** Up to `last`. A folder with files of others stays. */
async function removeEmptyFolders(folder: string, last: string): Promise<void> {
  if (folder !== last && !folder.startsWith(`${last}${path.sep}`)) return;
  const isRemoved = await rmdir(folder).then(
    () => true,
    () => false,
  );
  if (isRemoved) await removeEmptyFolders(path.dirname(folder), last);
}

async function forgetReported(root: string, files: readonly string[]): Promise<void> {
  const record = await readRecord(root);
  const reported = record.reported.filter(({ file }) => !files.includes(file));
  if (reported.length < record.reported.length) await writeRecord(root, { ...record, reported });
}

const withoutFile = (reported: readonly RestoredFile[], file: string): readonly RestoredFile[] =>
  reported.filter((one) => one.file !== file);

const isSameState = (a: PathState, b: PathState): boolean => a.kind === b.kind && a.content === b.content;
const hashOfFile = ({ kind, content }: PathState): string | undefined =>
  kind === 'file' ? hashOf(Buffer.from(content, 'base64')) : undefined;
const isOurs = ({ written, earlier }: ManagedFile, now: PathState): boolean =>
  [written, earlier].includes(hashOfFile(now) ?? 'none');
/** The first write of this agent has failed, so the file is still that of others. */
const isNeverWritten = (known: ManagedFile, now: PathState): boolean => known.earlier === '' && !isOurs(known, now);
const isForeign = (known: ManagedFile, now: PathState): boolean =>
  now.kind !== 'none' && !isOurs(known, now) && !isSameState(now, known.before);
const earlierOf = (known: ManagedFile, now: PathState): string =>
  isOurs(known, now) ? (hashOfFile(now) ?? '') : (known.earlier ?? known.written);

/** What stood there before, if it would be lost with the entry. */
async function keepOther(file: string, known: ManagedFile | undefined, now: PathState): Promise<void> {
  if (known && !isSameState(known.before, now)) await keepCopy(file, known.before);
}

const mostCopies = 20;

/**
 * One of two contents of users that would be lost. apt and systemd ignore this suffix silently. An earlier copy with
 * another content stays, up to a limit.
 */
async function keepCopy(file: string, state: PathState): Promise<void> {
  if (state.kind === 'none') return;
  for (let number = 0; number < mostCopies; number++) {
    const copy = number === 0 ? `${file}.save` : `${file}.${number}.save`;
    const found = await readPathState(copy);
    if (isSameState(found, state)) return;
    if (found.kind === 'none' || number === mostCopies - 1) return restorePathState(copy, state);
  }
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** From the file, otherwise from its copy: they hold the only content of a user's file while this agent replaces it. */
async function readRecord(root: string): Promise<ManagedRecord> {
  const file = path.join(root, recordFile);
  const errors: unknown[] = [];
  for (const place of [file, `${file}.copy`]) {
    const found = await readJson(place).catch((error: unknown) => void errors.push(error));
    const { files, reported } = (found ?? {}) as { files?: unknown; reported?: unknown };
    if (!Array.isArray(files)) continue;
    return {
      files: files as ManagedFile[],
      reported: Array.isArray(reported) ? (reported as RestoredFile[]) : [],
    };
  }
  // A disk that cannot be read at the moment must not look like an empty record.
  const unreadable = errors.find((error) => !(error instanceof Error && error.cause instanceof SyntaxError));
  if (unreadable !== undefined) throw unreadable;
  await rename(file, `${file}.damaged`).catch(() => {}); // it may still be read by hand
  return { files: [], reported: [] };
}

async function writeRecord(root: string, record: ManagedRecord): Promise<void> {
  const file = path.join(root, recordFile);
  const text = `${JSON.stringify({ format: 1, ...record }, null, 2)}\n`;
  for (const place of [file, `${file}.copy`])
    await namingFile(file, 'written', () => atomicWrite(place, text, { mode: 0o600 }));
}
