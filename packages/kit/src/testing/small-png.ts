import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const edge = 16;

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG file of 16 × 16 grey pixels; another text gives other pixels. */
export function smallPng(text: string): Buffer {
  const pixels = createHash('sha256').update(text).digest();
  const rows = Buffer.alloc(edge * (edge + 1));
  for (let y = 0; y < edge; y++)
    for (let x = 0; x < edge; x++) rows[y * (edge + 1) + x + 1] = pixels[(y * edge + x) % pixels.length] ?? 0;
  const header = Buffer.from([0, 0, 0, edge, 0, 0, 0, edge, 8, 0, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
