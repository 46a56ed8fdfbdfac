import { levels, type Level, type LogLine } from '@platform/kit';
import type { UnsureTime } from '../clock/device-time.ts';
import type { Position } from '../os/ports.ts';
import { checksum } from '../storage/checksum.ts';
import { isObject } from '@platform/contract/text/json-object';

/** The read position in one source (a file that is followed). */
export interface Cursor extends Position {
  source: string;
}

/** A log line with its identity. `cursor`: the read position of its source after this line. */
export interface SpoolRecord extends LogLine {
  /** The start of the agent that stored the line. */
  bootId: string;
  /** Increases over all lines of one spool, whichever start stored them. */
  sequence: number;
  cursor?: Cursor;
  unsure?: UnsureTime;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * One line: checksum, space, JSON.
 *
 * @param segmentId - the boot ID in the name of the segment: only another one is written with the line.
 */
export function encodeRecord(r: SpoolRecord, segmentId = r.bootId): Uint8Array {
  const json = JSON.stringify({
    s: r.sequence,
    ...(r.bootId !== segmentId && { b: r.bootId }),
    t: r.time,
    l: r.level,
    n: r.logger,
    m: r.message,
    ...(Object.keys(r.fields).length > 0 && { f: r.fields }),
    ...(r.caller && { w: r.caller }),
    ...(r.stack !== undefined && { k: r.stack }),
    ...(r.cursor && { c: r.cursor }),
    ...(r.unsure && { u: r.unsure }),
  });
  return encoder.encode(`${checksum(encoder.encode(json))} ${json}\n`);
}

/**
 * All intact records of a segment. Skips lines that a power cut tore or that this version cannot parse.
 *
 * @param segmentId - the boot ID in the name of the segment.
 */
export function decodeRecords(bytes: Uint8Array, segmentId: string): SpoolRecord[] {
  const records: SpoolRecord[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(newLine, start);
    const end = found < 0 ? bytes.length : found;
    const json = bytes.subarray(start + checkLength, end);
    const isWhole = json.length > 0 && decoder.decode(bytes.subarray(start, start + 8)) === checksum(json);
    const record = isWhole ? recordOf(decoder.decode(json), segmentId) : undefined;
    if (record) records.push(record);
    start = end + 1;
  }
  return records;
}
const newLine = 0x0a;
const checkLength = 9;

function recordOf(json: string, segmentId: string): SpoolRecord | undefined {
  let v: unknown;
  try {
    v = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (!isObject(v)) return undefined;
  const { s, b, t, l, n, m, f, w, k, c, u } = v;
  if (!Number.isSafeInteger(s) || typeof t !== 'number' || typeof n !== 'string' || typeof m !== 'string') {
    return undefined;
  }
  const cursor = cursorOf(c);
  const unsure = isObject(u) && typeof u['run'] === 'string' && typeof u['at'] === 'number';
  return {
    bootId: typeof b === 'string' ? b : segmentId,
    sequence: s as number,
    time: t,
    level: levels.includes(l as Level) ? (l as Level) : 'info',
    logger: n,
    message: m,
    fields: isObject(f) ? f : {},
    ...(isObject(w) && { caller: w }),
    ...(typeof k === 'string' && { stack: k }),
    ...(cursor && { cursor }),
    ...(unsure && { unsure: { run: String(u['run']), at: Number(u['at']) } }),
  };
}

function cursorOf(value: unknown): Cursor | undefined {
  if (!isObject(value)) return undefined;
  const { source, file, offset } = value;
  if (typeof source !== 'string' || typeof file !== 'string' || typeof offset !== 'number') return undefined;
  return { source, file, offset };
}

/** What the spool stores besides its segments. */
export interface SpoolState {
  /** The start that wrote this. The next start does not continue it: a state can be copied or put back. */
  bootId: string;
  /** The management server has accepted all lines up to this sequence. */
  acked: number;
  /** The highest sequence ever assigned. */
  last: number;
  /** The highest sequence that is known to be on disk; `cursors` are valid for all lines up to it. */
  stored: number;
  /** By source. */
  cursors: Readonly<Record<string, Position>>;
}

/** @throws Error if the value is not a spool state; members of a newer version are ignored */
export function stateOf(value: unknown): SpoolState {
  if (!isObject(value)) throw new Error('not an object');
  const { bootId, acked, last, stored, cursors } = value;
  if (typeof bootId !== 'string' || bootId === '' || bootId.includes('.')) throw new Error('"bootId" is missing');
  if (!Number.isSafeInteger(acked) || !Number.isSafeInteger(last))
    throw new Error('"acked" and "last" must be numbers');
  const known = Object.entries(isObject(cursors) ? cursors : {}).flatMap(([source, at]) => {
    const cursor = cursorOf({ ...(isObject(at) ? at : {}), source });
    return cursor ? [[source, { file: cursor.file, offset: cursor.offset }]] : [];
  });
  return {
    bootId,
    acked: acked as number,
    last: last as number,
    stored: Number.isSafeInteger(stored) ? (stored as number) : (acked as number),
    cursors: Object.fromEntries(known) as SpoolState['cursors'],
  };
}
