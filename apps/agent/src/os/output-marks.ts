import type { Position } from './ports.ts';
import { parseObject } from '@platform/contract/text/json-object';

// The marks that the output relay writes between the lines of a program. A program does not begin a line with this
// character by chance.
const separator = '\u001e';
const relayed = 'relay/';

/** Lines of a program that were dropped. */
export interface DroppedOutput {
  lines: number;
  /** Times of the first and the last of them, ms since 1970. */
  from: number;
  to: number;
  because: 'no room' | 'the disk takes nothing' | 'too many at once';
}

/** First line of each file of the relay. */
export interface OutputHeader {
  platform_output: 1;
  /** Identifies the file permanently; its inode may be reused. */
  segment: string;
  /** By boot ID of a start of the server: the number of the last line that was accepted before this file. */
  taken?: Readonly<Record<string, number>>;
}

export const headerText = (header: OutputHeader): string => `${separator}${JSON.stringify(header)}\n`;
export const droppedText = (dropped: DroppedOutput): string =>
  `${separator}${JSON.stringify({ platform_dropped: dropped })}\n`;

export const isMark = (line: string): boolean => line.startsWith(`${separator}{`);

const parsed = (line: string): Record<string, unknown> | undefined =>
  isMark(line) ? parseObject(line.slice(1)) : undefined;

/** Undefined: the line is not the header of a relay's file. */
export function parseHeader(line: string): OutputHeader | undefined {
  const value = parsed(line);
  return value?.['platform_output'] === 1 && typeof value['segment'] === 'string'
    ? (value as unknown as OutputHeader)
    : undefined;
}

export function parseDropped(line: string): DroppedOutput | undefined {
  const value = parsed(line)?.['platform_dropped'] as Partial<DroppedOutput> | undefined;
  if (typeof value?.lines !== 'number' || typeof value.from !== 'number' || typeof value.to !== 'number')
    return undefined;
  const { lines, from, to, because } = value;
  return {
    lines,
    from,
    to,
    because: because === 'no room' || because === 'the disk takes nothing' ? because : 'too many at once',
  };
}

/** The `file` of a Position in the file with this header. */
export const fileOfSegment = ({ segment }: OutputHeader): string => `${relayed}${segment}`;
/** The relay bounds the size of these files, so they need no further limit. */
export const isRelayed = ({ file }: Position): boolean => file.startsWith(relayed);

/** The names among these that are older files of `name`, oldest first. */
export function olderOf(name: string, names: readonly string[]): { name: string; number: number; isRead: boolean }[] {
  return names
    .flatMap((one) => {
      const found = one.startsWith(`${name}.`) ? /^(\d{8})(\.read)?$/.exec(one.slice(name.length + 1)) : null;
      return found ? [{ name: one, number: Number(found[1]), isRead: found[2] !== undefined }] : [];
    })
    .toSorted((a, b) => a.number - b.number);
}
