import { errorText, levels, type Level } from '@platform/kit';
import type { Disk, Position } from '../os/ports.ts';
import { decodeChecked, encodeChecked } from '../storage/checked-file.ts';
import { decodeRecords, stateOf, type SpoolRecord, type SpoolState } from './spool-record.ts';

export const spoolFolder = 'spool';
export const spoolStateFile = `${spoolFolder}/state`;

export interface Segment {
  /** BOOTID.FIRST.seg, or BOOTID.FIRST-LAST.seg if it replaces several segments. */
  readonly name: string;
  /** The boot ID of its lines, except those that name their own. */
  readonly bootId: string;
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
 *
 * @param bootId - of this start, for its own lines. Lines of before keep theirs.
 */
export async function findSegments(disk: Disk, bootId: string): Promise<Found> {
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
  const files = (await attempt(spoolFolder, () => disk.list(spoolFolder))) ?? [];
  const { named, replaced, foreign } = segmentsIn(files);
  problems.push(...foreign.map(uselessText));
  for (const name of [...replaced, ...foreign]) await attempt(name, () => disk.remove(`${spoolFolder}/${name}`));
  for (const [i, { name, bootId: id, first, last: to }] of named.entries()) {
    const bytes = await attempt(name, async () => (await disk.read(`${spoolFolder}/${name}`)) ?? new Uint8Array());
    if (!bytes) continue;
    const next = named[i + 1]?.first ?? 0;
    const end = to ?? next - 1;
    if (end >= first && end <= known && bytes.length > 0) {
      // The state covers the whole segment. Reading it now would delay the start if the spool is full.
      segments.push({ name, bootId: id, first, last: end, bytes: bytes.length, lines: undefined });
      last = Math.max(last, end);
      continue;
    }
    const records = decodeRecords(bytes, id);
    if (records.length === 0) {
      if (bytes.length > 0) problems.push(uselessText(name));
      await attempt(name, () => disk.remove(`${spoolFolder}/${name}`));
      continue;
    }
    for (const { cursor, sequence } of records) {
      if (cursor && sequence > known) cursors[cursor.source] = { file: cursor.file, offset: cursor.offset };
    }
    const segment: Segment = {
      name,
      bootId: id,
      first: records[0]?.sequence ?? 0,
      last: records.at(-1)?.sequence ?? 0,
      bytes: bytes.length,
      lines: levelsOf(records),
    };
    segments.push(segment);
    last = Math.max(last, segment.last);
  }
  const found = state ?? { acked: 0, last: 0, stored: 0, cursors: {} };
  return { segments, state: { ...found, bootId, last: Math.max(last, found.acked), cursors }, problems };
}

const uselessText = (name: string): string => `${name}: nothing in it can be read; removed`;

interface SegmentName {
  name: string;
  bootId: string;
  first: number;
  /** Undefined: the name does not hold it. */
  last: number | undefined;
}

/** The segments among these files in the order of their lines, and the files that are useless. */
function segmentsIn(files: readonly string[]): { named: SegmentName[]; replaced: string[]; foreign: string[] } {
  const all: SegmentName[] = [];
  const foreign: string[] = [];
  for (const name of files.filter((file) => file.endsWith('.seg'))) {
    const [, bootId, first, last] = /^([^.]+)\.(\d+)(?:-(\d+))?\.seg$/.exec(name) ?? [];
    if (bootId === undefined) foreign.push(name);
    else all.push({ name, bootId, first: Number(first), last: last === undefined ? undefined : Number(last) });
  }
  // The power may have failed after a merge, before the removal of what it replaces.
  const isReplaced = (one: SegmentName): boolean =>
    all.some((o) => o !== one && o.last !== undefined && o.first <= one.first && (one.last ?? one.first) <= o.last);
  const replaced = all.filter(isReplaced);
  return {
    named: all.filter((one) => !replaced.includes(one)).toSorted((a, b) => a.first - b.first),
    replaced: replaced.map(({ name }) => name),
    foreign,
  };
}

const digits = 12;
const padded = (sequence: number): string => String(sequence).padStart(digits, '0');

export const newSegment = (bootId: string, first: number): Segment => ({
  name: `${bootId}.${padded(first)}.seg`,
  bootId,
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
/** The segment that replaces these, which follow one another. */
export function mergedSegment(group: readonly Segment[], bytes: number): Segment {
  const [first, last] = [group[0]?.first ?? 0, group.at(-1)?.last ?? 0];
  const bootId = group[0]?.bootId ?? '';
  return { name: `${bootId}.${padded(first)}-${padded(last)}.seg`, bootId, first, last, bytes, lines: undefined };
}

/** More segments of less than half the size are merged: each start of the agent begins one. */
const mostSmall = 32;

/** Groups of segments to merge, each of which follow one another; none if there are few small ones. */
export function mergeable(segments: readonly Segment[], segmentBytes: number): Segment[][] {
  const isSmall = ({ bytes }: Segment): boolean => bytes < segmentBytes / 2;
  if (segments.filter(isSmall).length <= mostSmall) return [];
  const groups: Segment[][] = [[]];
  let bytes = 0;
  for (const segment of segments) {
    bytes += segment.bytes;
    if (bytes > segmentBytes) {
      groups.push([]);
      bytes = segment.bytes;
    }
    groups.at(-1)?.push(segment);
  }
  return groups.filter((group) => group.length > 1);
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
