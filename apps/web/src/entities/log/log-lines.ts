import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { fieldPairs } from '@platform/contract/logs/fields';
import { droppedLines } from '@platform/contract/logs/marker';
import { levelNames, logLevels, type LogLevel } from '@platform/contract/logs/levels';
import { msOf } from '../../ui/times.ts';

/** One line of LOGS. */
export interface LogLine {
  /** The same line always has the same key, whichever way and however often it arrives. */
  key: string;
  time: number;
  /** Position among all lines of the machine; 0: unknown. */
  position: bigint;
  level: LogLevel;
  logger: string;
  message: string;
  /** " key=value …", empty without fields. */
  fields: string;
  /** The number of lost lines that this one represents; 0: an ordinary line. */
  dropped: number;
  host: string;
  /** ID of the start of its sender; empty: unknown. */
  boot: string;
  /** As it was sent. */
  entry: LogEntry;
}

/** The level for any name that a logger uses. */
export function parseLevel(name: string): LogLevel {
  const lower = name.toLowerCase();
  return logLevels.find((level) => levelNames[level].some((one) => one === lower)) ?? 'info';
}

export const fieldValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const fieldsText = (fields: readonly Record<string, unknown>[]): string =>
  fieldPairs(fields)
    .map(([key, value]) => ` ${key}=${fieldValue(value)}`)
    .join('');

export function toLogLine(entry: LogEntry): LogLine {
  const time = msOf(entry.time) ?? 0;
  return {
    key: String(entry.position),
    time,
    position: entry.position,
    level: parseLevel(entry.level),
    logger: entry.loggerName,
    message: entry.message,
    fields: fieldsText(entry.fields),
    dropped: droppedLines(entry.fields),
    host: entry.host,
    boot: entry.bootId,
    entry,
  };
}
