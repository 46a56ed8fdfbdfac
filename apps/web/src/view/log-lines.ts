import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { fieldPairs } from '@platform/contract/log-fields';
import { droppedLines } from '@platform/contract/log-marker';
import { msOf } from './times.ts';

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/** One line of the LOGS tab. */
export interface LogLine {
  /** The same line always has the same key, whichever way and however often it arrives. */
  key: string;
  time: number;
  sequence: bigint;
  /** Position among all lines of the machine; 0: unknown. */
  position: bigint;
  level: Level;
  logger: string;
  message: string;
  /** " key=value …", empty without fields. */
  fields: string;
  /** The number of lost lines that this one represents; 0: an ordinary line. */
  dropped: number;
  host: string;
}

/** Bounds the memory of a page that stays open for days. */
export const maxLines = 5000;

const levelNames: Readonly<Record<string, Level>> = {
  warning: 'warn',
  fatal: 'error',
  panic: 'error',
  dpanic: 'error',
  trace: 'debug',
};

export function parseLevel(name: string): Level {
  const lower = name.toLowerCase();
  return levels.find((level) => level === lower) ?? levelNames[lower] ?? 'info';
}

/** All names that loggers use for the desired levels. */
export const loggerNamesOf = (wanted: readonly Level[]): string[] => [
  ...wanted,
  ...Object.entries(levelNames).flatMap(([name, level]) => (wanted.includes(level) ? [name] : [])),
];

const fieldsText = (fields: readonly Record<string, unknown>[]): string =>
  fieldPairs(fields)
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');

export function toLogLine(entry: LogEntry): LogLine {
  const time = msOf(entry.time) ?? 0;
  const fields = fieldsText(entry.fields);
  const isPlaced = entry.position !== 0n;
  const isNumbered = entry.bootId !== '' || entry.sequence !== 0n;
  return {
    key: isPlaced
      ? String(entry.position)
      : isNumbered
        ? `${entry.host} ${entry.bootId} ${entry.sequence}`
        : `${entry.host} ${time} ${entry.loggerName} ${entry.level} ${entry.message}${fields}`,
    time,
    sequence: entry.sequence,
    position: entry.position,
    level: parseLevel(entry.level),
    logger: entry.loggerName,
    message: entry.message,
    fields,
    dropped: droppedLines(entry.fields),
    host: entry.host,
  };
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
/** Programs write many lines in one millisecond: position and sequence keep their order. */
const inOrder = (a: LogLine, b: LogLine): number =>
  a.time - b.time || compare(a.position, b.position) || compare(a.sequence, b.sequence);

/** Lines by time, each once, the oldest dropped beyond the limit. */
export function mergeLines(lines: readonly LogLine[], more: readonly LogLine[], most = maxLines): readonly LogLine[] {
  if (more.length === 0) return lines;
  const known = new Set(lines.map((line) => line.key));
  const fresh = more.filter((line) => !known.has(line.key) && known.add(line.key));
  if (fresh.length === 0) return lines;
  return [...lines, ...fresh].toSorted(inOrder).slice(-most);
}

export interface LogFilter {
  levels: ReadonlySet<Level>;
  text: string;
}

/** Searches message, fields and logger, case-insensitively. */
export function matchesFilter(line: LogLine, filter: LogFilter): boolean {
  if (!filter.levels.has(line.level)) return false;
  const text = filter.text.trim().toLowerCase();
  return text === '' || `${line.message}${line.fields} ${line.logger}`.toLowerCase().includes(text);
}
