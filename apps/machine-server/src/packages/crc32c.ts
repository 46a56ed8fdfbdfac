/** CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), which the server sends with package downloads. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** Continues from `before`, the checksum of all previous bytes. @returns 32 bits, unsigned. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}

/**
 * Parses the checksum of a header `x-goog-hash: crc32c=<base64 of 4 big-endian bytes>`; leading zero bytes may be
 * omitted. Undefined if the header has none.
 */
export function announcedCrc32c(header: string | null): number | undefined {
  const base64 = /(?:^|[,\s])crc32c=([A-Za-z0-9+/]+={0,2})/.exec(header ?? '')?.[1];
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > 4) return undefined;
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}
