import type { Level, LogLine } from '@platform/kit';
import type { Position } from '../os/ports.ts';

/** A log line with its place in the order of this spool. `cursor`: how far its source was read with it. */
export interface SpoolRecord extends LogLine {
  sequence: number;
  cursor?: Position;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** CRC-32 (ISO 3309) as 8 hex digits. */
export function checksum(bytes: Uint8Array): string {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}
const crcTable = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** One line: checksum, blank, JSON. */
export function encodeRecord(r: SpoolRecord): Uint8Array {
  const json = JSON.stringify({
    s: r.sequence,
    t: r.time,
    l: r.level,
    n: r.logger,
    m: r.message,
    ...(Object.keys(r.fields).length > 0 && { f: r.fields }),
    ...(r.cursor && { c: r.cursor }),
  });
  return encoder.encode(`${checksum(encoder.encode(json))} ${json}\n`);
}

/** All whole records of a segment; a line that a power cut tore is left out. */
export function decodeRecords(bytes: Uint8Array): SpoolRecord[] {
  return decoder
    .decode(bytes)
    .split('\n')
    .flatMap((line) => {
      const json = line.slice(9);
      if (json === '' || checksum(encoder.encode(json)) !== line.slice(0, 8)) return [];
      const v = JSON.parse(json) as {
        s: number;
        t: number;
        l: Level;
        n: string;
        m: string;
        f?: Record<string, unknown>;
        c?: Position;
      };
      return [
        {
          sequence: v.s,
          time: v.t,
          level: v.l,
          logger: v.n,
          message: v.m,
          fields: v.f ?? {},
          ...(v.c && { cursor: v.c }),
        },
      ];
    });
}

/** What the spool knows beside its segments. */
export interface SpoolState {
  bootId: string;
  /** Everything up to here was taken by the cloud. */
  acked: number;
  /** The highest number ever given. */
  last: number;
  cursor?: Position;
}

export function encodeState(state: SpoolState): Uint8Array {
  const json = JSON.stringify(state);
  return encoder.encode(`${checksum(encoder.encode(json))} ${json}\n`);
}

export function decodeState(bytes: Uint8Array | undefined): SpoolState | undefined {
  const text = decoder.decode(bytes ?? new Uint8Array()).trimEnd();
  const json = text.slice(9);
  if (json === '' || checksum(encoder.encode(json)) !== text.slice(0, 8)) return undefined;
  return JSON.parse(json) as SpoolState;
}
