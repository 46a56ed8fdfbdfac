import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { fieldPairs } from '@platform/contract/logs/fields';
import { droppedLines } from '@platform/contract/logs/marker';
import { counted, isoTime, printable } from '../output.ts';

/** A line of the log of a machine, for programs. */
export const logLineJson = (entry: LogEntry): Record<string, unknown> => ({
  time: isoTime(entry.time),
  level: entry.level,
  logger: entry.loggerName,
  message: entry.message,
  fields: Object.fromEntries(fieldPairs(entry.fields)),
  dropped_lines: droppedLines(entry.fields),
});

/** Formats a line for users. A marker line shows the number of lost lines. */
export function logLineText(entry: LogEntry): string {
  const dropped = droppedLines(entry.fields);
  if (dropped > 0)
    return printable(`${isoTime(entry.time)} ----- ${counted(dropped, 'line')} lost here: ${entry.message} -----`);
  const fields = fieldPairs(entry.fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(
    [isoTime(entry.time), entry.level.toUpperCase().padEnd(5), entry.loggerName, entry.message, ...fields].join(' '),
  );
}

/** Deduplication key: the same line has the same key in the history and in the live stream. */
export const logLineKey = (entry: LogEntry): string =>
  entry.position > 0n
    ? String(entry.position)
    : entry.bootId !== '' && entry.sequence > 0n
      ? `${entry.bootId} ${entry.sequence}`
      : `${entry.time?.seconds} ${entry.time?.nanos} ${logLineText(entry)}`;
