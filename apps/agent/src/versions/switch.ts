import { createHash } from 'node:crypto';
import { chunksOf, readFile, replaceFile } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { idOfTarget, linkPath, linkTarget, programPath, statePath, type Program } from './layout.ts';
import {
  badLine,
  mostRefetches,
  readBadLines,
  readTrialLine,
  trialLine,
  withBad,
  type Bad,
  type Trial,
} from '../state/trial-file.ts';

// The few steps that change the version in use. After each, a complete version is in use, whatever is lost later.

const encoder = new TextEncoder();

export async function textOf(files: FileSystem, path: string): Promise<string> {
  const bytes = await readFile(files, path).catch(() => undefined); // unreadable counts as missing
  return new TextDecoder().decode(bytes ?? new Uint8Array());
}

/** Id that bin/ links to, complete or not. */
export const linkedId = async (files: FileSystem, program: Program): Promise<string | undefined> =>
  idOfTarget(program, await files.readlink(linkPath(program)));

export async function hasProgram(files: FileSystem, program: Program, id: string): Promise<boolean> {
  const entry = await files.stat(programPath(program, id));
  return entry?.kind === 'file' && entry.sizeBytes > 0; // a file system repair can leave empty files
}

/** Whether the file differs from its stored hash, or cannot be read. */
export async function isDamaged(files: FileSystem, program: Program, id: string): Promise<boolean> {
  const want = (await textOf(files, `versions/${id}/sha256`)).trim();
  if (!/^[0-9a-f]{64}$/.test(want)) return false; // no hash to compare with
  const hash = createHash('sha256');
  try {
    for await (const chunk of chunksOf(files, programPath(program, id))) hash.update(chunk);
  } catch {
    return true;
  }
  return hash.digest('hex') !== want;
}

/**
 * Counts that the disk damaged the file of a version on trial. The damage is not the version's fault.
 *
 * @returns whether the file may be fetched again. The number is limited, because a bad disk may damage it each time.
 */
export async function noteDamage(files: FileSystem, program: Program, id: string): Promise<boolean> {
  const path = statePath(program, 'damaged');
  const times = (await textOf(files, path)).split('\n').filter((line) => line === id).length;
  const lines = `${id}\n`.repeat(times + 1);
  await replaceFile(files, path, encoder.encode(lines), { mode: 0o644 }).catch(() => {});
  return times < mostRefetches;
}

export const forgetDamage = (files: FileSystem, program: Program): Promise<void> =>
  files.unlink(statePath(program, 'damaged'));

export async function point(files: FileSystem, program: Program, id: string): Promise<void> {
  const temporary = `${linkPath(program)}.tmp`;
  await files.unlink(temporary);
  await files.symlink(linkTarget(program, id), temporary);
  await files.rename(temporary, linkPath(program));
  await files.syncFolder('bin');
}

const backPath = (program: Program): string => `${linkPath(program)}.back`;

/** Prepares the link for `goBack`, so that a rollback needs no disk space. */
export async function layBack(files: FileSystem, program: Program, id: string): Promise<void> {
  await files.unlink(backPath(program));
  await files.symlink(linkTarget(program, id), backPath(program));
  await files.syncFolder('bin');
}

export async function goBack(files: FileSystem, program: Program, id: string): Promise<void> {
  if ((await files.readlink(backPath(program))) !== linkTarget(program, id)) return point(files, program, id);
  await files.rename(backPath(program), linkPath(program));
  await files.syncFolder('bin');
}

export const readTrial = async (files: FileSystem, program: Program): Promise<Trial | undefined> =>
  readTrialLine(await textOf(files, statePath(program, 'trial')));

export const writeTrial = (files: FileSystem, program: Program, trial: Trial): Promise<void> =>
  replaceFile(files, statePath(program, 'trial'), encoder.encode(trialLine(trial)), { mode: 0o644 });

export async function endTrial(files: FileSystem, program: Program): Promise<void> {
  await files.unlink(statePath(program, 'trial'));
  await files.syncFolder('state');
  await files.unlink(backPath(program)).catch(() => {}); // the next trial replaces a leftover
}

export const readBad = async (files: FileSystem, program: Program): Promise<Bad[]> =>
  readBadLines(await textOf(files, statePath(program, 'bad')));

export async function addBad(files: FileSystem, program: Program, bad: Bad): Promise<void> {
  const path = statePath(program, 'bad');
  await replaceFile(files, path, encoder.encode(withBad(await textOf(files, path), bad)), { mode: 0o644 });
}

/** Returns the removed entries. */
export async function releaseFromQuarantine(
  files: FileSystem,
  program: Program,
  isMeant: (bad: Bad) => boolean,
): Promise<Bad[]> {
  const path = statePath(program, 'bad');
  const all = readBadLines(await textOf(files, path));
  const gone = all.filter(isMeant);
  if (gone.length === 0) return [];
  const kept = all.filter((bad) => !gone.includes(bad)).map(badLine);
  await replaceFile(files, path, encoder.encode(kept.join('')), { mode: 0o644 });
  return gone;
}

/**
 * Lowers the clearances of the quarantine to this one, so that the next clearance counts: for another part, whose
 * operators have cleared nothing yet, and for a management server that was restored from a backup.
 */
export async function lowerClearance(files: FileSystem, program: Program, most: number): Promise<void> {
  const path = statePath(program, 'bad');
  const all = readBadLines(await textOf(files, path));
  if (all.every(({ clearance }) => clearance <= most)) return;
  const lines = all.map((bad) => badLine({ ...bad, clearance: Math.min(bad.clearance, most) }));
  await replaceFile(files, path, encoder.encode(lines.join('')), { mode: 0o644 });
}

export async function writePrevious(files: FileSystem, program: Program, id: string): Promise<void> {
  await replaceFile(files, statePath(program, 'previous'), encoder.encode(`${id}\n`), { mode: 0o644 });
}
