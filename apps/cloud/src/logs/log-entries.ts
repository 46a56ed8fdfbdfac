import { create, type JsonObject } from '@bufbuild/protobuf';
import { type LogEntry, LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { boundedCaller, boundedFields, cutText, logLimits } from '@platform/contract/logs/limits';
import { isTime, timeOfUs, microsecondsOf } from '../rpc/protobuf-times.ts';
import type { LogRow, NewLogRow } from './store/part-logs.ts';

/** PostgreSQL's text type cannot contain NUL. */
const clean = (text: string): string => (text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text);
const cleanName = (text: string, characters: number = logLimits.nameCharacters): string =>
  clean(text).slice(0, characters).toWellFormed();
/** Undefined: absent or out of range, for example from a machine whose clock is wrong. */
const timeUs = ({ time }: LogEntry): number | undefined => (time && isTime(time) ? microsecondsOf(time) : undefined);
/** JSON has no non-finite numbers: they are stored as protobuf's JSON writes them, "NaN" and "Infinity". */
function cleanJson(value: unknown): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'number' && !Number.isFinite(member) ? String(member) : member,
  );
  return text.includes('\\u0000') ? text.replaceAll('\\u0000', '\\ufffd') : text;
}

/** @param now - ms since 1970, for entries without a time. */
export function newLogRow(entry: LogEntry, partId: string, now: number): NewLogRow {
  const isNumbered = entry.bootId !== '' && entry.sequence > 0n && entry.sequence <= Number.MAX_SAFE_INTEGER;
  const hasRest = entry.caller !== undefined || entry.stack !== '' || entry.fields.length > 0;
  const ownTimeUs = timeUs(entry);
  return {
    partId,
    bootId: isNumbered ? cleanName(entry.bootId) : null,
    sequence: isNumbered ? Number(entry.sequence) : null,
    timeUs: ownTimeUs ?? now * 1000,
    isArrivalTime: ownTimeUs === undefined,
    level: cleanName(entry.level.toLowerCase(), 20) || 'info',
    host: cleanName(entry.host),
    loggerName: cleanName(entry.loggerName),
    message: cutText(clean(entry.message)),
    // JSON omits undefined members.
    rest: hasRest
      ? cleanJson({
          caller: entry.caller && boundedCaller(entry.caller),
          stack: entry.stack === '' ? undefined : cutText(clean(entry.stack)),
          fields: entry.fields.length === 0 ? undefined : boundedFields(entry.fields),
        })
      : null,
  };
}

export function logEntry(row: LogRow): LogEntry {
  const rest = (row.rest ?? {}) as { caller?: JsonObject; stack?: string; fields?: JsonObject[] };
  return create(LogEntrySchema, {
    host: row.host,
    level: row.level,
    loggerName: row.loggerName,
    message: row.message,
    time: timeOfUs(row.timeUs),
    ...(rest.caller && { caller: rest.caller }),
    stack: rest.stack ?? '',
    fields: rest.fields ?? [],
    sequence: BigInt(row.sequence ?? 0),
    bootId: row.bootId ?? '',
    position: BigInt(row.id),
  });
}
