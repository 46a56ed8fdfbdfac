/** The checksum that the management server sends with the download of a package, and machines verify. */
import crc32cOf from 'crc-32/crc32c.js';

/** CRC-32C (Castagnoli). Continues from `before`, the checksum of all previous bytes. @returns 32 bits, unsigned. */
export const crc32c = (bytes: Uint8Array, before = 0): number => crc32cOf.buf(bytes, before) >>> 0;

/** The header that carries it: base64 of the four bytes, most significant first. */
export const checksumHeader = 'x-goog-hash';

export function formatChecksum(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return `crc32c=${bytes.toString('base64')}`;
}

/** Leading zero bytes may be omitted. Undefined if the header has no such checksum. */
export function parseChecksum(header: string | null): number | undefined {
  const base64 = /(?:^|[,\s])crc32c=([A-Za-z0-9+/]+={0,2})/.exec(header ?? '')?.[1];
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > 4) return undefined;
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}
