import { errorText, levels, type Level } from '@platform/kit';
import type { Disk, Position } from '../os/ports.ts';
import { decodeChecked, encodeChecked } from '../storage/checked-file.ts';
import { decodeRecords, stateOf, type SpoolRecord, type SpoolState } from './spool-record.ts';

export const spoolFolder = 'spool';
export const spoolStateFile = `${spoolFolder}/state`;

export interface Segment {
  readonly name: string;
  readonly first: number;
  last: number;
  bytes: number;
  /** Number of lines per level; undefined: not read yet. */
  lines: Record<Level, number> | undefined;
}

export interface Found {
  segments: Segment[];
  state: SpoolState;
  problems: string[];
}

/**
 * Finds the segments and state of earlier agents. Never throws: unreadable ones are skipped and listed in `problems`.
 */
export async function findSegments(disk: Disk, newId: () => string): Promise<Found> {
  const segments: Segment[] = [];
  const problems: string[] = [];
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      problems.push(`${what}: ${errorText(error)}`);
      return undefined;
    }
  };
  const stored = await attempt(spoolStateFile, () => disk.read(spoolStateFile));
  let state = await attempt(spoolStateFile, async () => {
    const decoded = decodeChecked(stored);
    if (stored && !decoded) throw new Error('it is damaged; made anew from the lines');
    return decoded && stateOf(decoded.value);
  });
  const cursors: Record<string, Position> = { ...state?.cursors };
  const known = state?.stored ?? 0; // for lines up to here, the state has the cursors
  let last = state?.last ?? 0;
  const names = ((await attempt(spoolFolder, () => disk.list(spoolFolder))) ?? []).filter((n) => n.endsWith('.seg'));
  for (const [i, name] of names.entries()) {
    const bytes = await attempt(name, async () => (await disk.read(`${spoolFolder}/${name}`)) ?? new Uint8Array());
    if (!bytes) continue;
    const [bootId = '', number] = name.split('.');
    const first = Number(number);
    const next = Number(names[i + 1]?.split('.')[1]);
    if (bootId === state?.bootId && first > 0 && next > first && next <= known + 1 && bytes.length > 0) {
      // The state covers the whole segment. Reading it now would delay the start if the spool is full.
      segments.push({ name, first, last: next - 1, bytes: bytes.length, lines: undefined });
      continue;
    }
    const records = decodeRecords(bytes);
    if (records.length === 0 && bytes.length > 0) problems.push(`${name}: nothing in it can be read; removed`);
    if (records.length > 0) state ??= { bootId, acked: 0, last: 0, stored: 0, cursors: {} };
    if (records.length === 0 || bootId !== state?.bootId) {
      await attempt(name, () => disk.remove(`${spoolFolder}/${name}`));
      continue;
    }
    for (const { cursor, sequence } of records) {
      if (cursor && sequence > known) cursors[cursor.source] = { file: cursor.file, offset: cursor.offset };
    }
    const segment: Segment = {
      name,
      first: records[0]?.sequence ?? 0,
      last: records.at(-1)?.sequence ?? 0,
      bytes: bytes.length,
      lines: levelsOf(records),
    };
    segments.push(segment);
    last = Math.max(last, segment.last);
  }
  state ??= { bootId: newId(), acked: 0, last: 0, stored: 0, cursors: {} };
  return { segments, state: { ...state, last: Math.max(last, state.acked), cursors }, problems };
}

export const newSegment = (name: string, first: number): Segment => ({
  name,
  first,
  last: first - 1,
  bytes: 0,
  lines: levelsOf([]),
});
export function levelsOf(records: readonly SpoolRecord[]): Record<Level, number> {
  const lines = { debug: 0, info: 0, warn: 0, error: 0 };
  for (const { level } of records) lines[level]++;
  return lines;
}
export const countOf = (lines: Record<Level, number>): number => levels.reduce((sum, level) => sum + lines[level], 0);

/**
 * Drops all lines, sent or not. The next reader of each source continues at its cursor.
 *
 * @param bootId - of the new spool: its sequences begin at 1.
 */
export async function dropLines(disk: Disk, cursors: SpoolState['cursors'], bootId: string): Promise<void> {
  const names = (await disk.list(spoolFolder)).filter((name) => name.endsWith('.seg'));
  for (const name of names) await disk.remove(`${spoolFolder}/${name}`);
  const state: SpoolState = { bootId, acked: 0, last: 0, stored: 0, cursors };
  await disk.write(spoolStateFile, encodeChecked(state));
}
