declare module 'crc-32/crc32c.js' {
  const crc32c: {
    /** CRC-32C (Castagnoli) of bytes as a signed 32-bit number; `seed`: the result for the preceding bytes. */
    buf(bytes: Uint8Array, seed?: number): number;
  };
  export default crc32c;
}
