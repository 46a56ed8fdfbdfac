import { create } from '@bufbuild/protobuf';
import type { JsonObject } from '@bufbuild/protobuf';
import { type LogEntry, LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import type { LogRow, NewLogRow } from '../store/part-logs.ts';

const longestMessage = 32_768;
const longestName = 256;

/** PostgreSQL's texts hold no NUL. */
const clean = (text: string, limit: number): string => {
  const whole = text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text;
  return whole.length <= limit ? whole : `${whole.slice(0, limit)}… (${whole.length - limit} more)`;
};
function cleanJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0000') ? text.replaceAll('\\u0000', '\\ufffd') : text;
}

/** @param now - ms since 1970, for entries without a time. */
export function newLogRow(entry: LogEntry, partId: string, now: number): NewLogRow {
  const isNumbered = entry.bootId !== '' && entry.sequence > 0n;
  const hasRest = entry.caller !== undefined || entry.stack !== '' || entry.fields.length > 0;
  return {
    partId,
    bootId: isNumbered ? clean(entry.bootId, longestName) : null,
    sequence: isNumbered ? Number(entry.sequence) : null,
    timeUs: entry.time ? Number(entry.time.seconds) * 1e6 + Math.floor(entry.time.nanos / 1000) : now * 1000,
    level: clean(entry.level.toLowerCase(), 20) || 'info',
    host: clean(entry.host, longestName),
    loggerName: clean(entry.loggerName, longestName),
    message: clean(entry.message, longestMessage),
    // Members that are undefined are left out of JSON.
    rest: hasRest
      ? cleanJson({
          caller: entry.caller,
          stack: entry.stack === '' ? undefined : clean(entry.stack, longestMessage),
          fields: entry.fields.length === 0 ? undefined : entry.fields,
        })
      : null,
  };
}

export function logEntry(row: LogRow): LogEntry {
  const rest = (row.rest ?? {}) as { caller?: JsonObject; stack?: string; fields?: JsonObject[] };
  const seconds = Math.floor(row.timeUs / 1e6);
  return create(LogEntrySchema, {
    host: row.host,
    level: row.level,
    loggerName: row.loggerName,
    message: row.message,
    time: { seconds: BigInt(seconds), nanos: Math.round(row.timeUs - seconds * 1e6) * 1000 },
    ...(rest.caller && { caller: rest.caller }),
    stack: rest.stack ?? '',
    fields: rest.fields ?? [],
    sequence: BigInt(row.sequence ?? 0),
    bootId: row.bootId ?? '',
  });
}
