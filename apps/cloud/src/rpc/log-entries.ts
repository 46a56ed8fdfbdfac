import { create } from '@bufbuild/protobuf';
import type { JsonObject } from '@bufbuild/protobuf';
import { type LogEntry, LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import type { LogRow, NewLogRow } from '../store/part-logs.ts';

const longestMessage = 32_768;
const longestName = 256;

/** PostgreSQL's texts hold no NUL. */
const clean = (text: string, limit: number): string => {
  const whole = text.replaceAll('\u0000', '\ufffd');
  return whole.length <= limit ? whole : `${whole.slice(0, limit)}… (${whole.length - limit} more)`;
};
const cleanJson = (value: unknown): JsonObject =>
  JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '\\ufffd')) as JsonObject;

/** @param now - ms since 1970, for entries without a time. */
export function newLogRow(entry: LogEntry, part: { id: string; orgId: string }, now: number): NewLogRow {
  const isNumbered = entry.bootId !== '' && entry.sequence > 0n;
  const rest = {
    ...(entry.caller && { caller: entry.caller }),
    ...(entry.stack !== '' && { stack: clean(entry.stack, longestMessage) }),
    ...(entry.fields.length > 0 && { fields: entry.fields }),
  };
  return {
    orgId: part.orgId,
    partId: part.id,
    bootId: isNumbered ? clean(entry.bootId, longestName) : null,
    sequence: isNumbered ? Number(entry.sequence) : null,
    timeUs: entry.time ? Number(entry.time.seconds) * 1e6 + Math.floor(entry.time.nanos / 1000) : now * 1000,
    level: clean(entry.level.toLowerCase(), 20) || 'info',
    host: clean(entry.host, longestName),
    loggerName: clean(entry.loggerName, longestName),
    message: clean(entry.message, longestMessage),
    rest: Object.keys(rest).length > 0 ? cleanJson(rest) : null,
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
