import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c, formatChecksum, parseChecksum } from './package-checksum.ts';

test('crc32c: known answers, in one piece and in many', () => {
  const rows: [Uint8Array, number][] = [
    [Buffer.from(''), 0],
    [Buffer.from('123456789'), 0xe3069283],
    [Buffer.alloc(32), 0x8a9136aa],
    [Buffer.alloc(32, 0xff), 0x62a8ab43],
    [Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ];
  for (const [bytes, sum] of rows) {
    assert.equal(crc32c(bytes), sum);
    assert.equal(crc32c(bytes.subarray(7), crc32c(bytes.subarray(0, 7))), sum);
  }
});

test('a checksum is parsed from the header that the server writes, and from those of others', () => {
  assert.equal(formatChecksum(0xe3069283), 'crc32c=4waSgw==');
  assert.equal(formatChecksum(1), 'crc32c=AAAAAQ==');
  const headers: [string | null, number | undefined][] = [
    [formatChecksum(1), 1],
    ['md5=abcd, crc32c=4waSgw==', 0xe3069283],
    ['crc32c=Bg==', 6], // without leading zero bytes
    ['crc32c=', undefined],
    ['crc32c=AAAAAAAAAAA=', undefined],
    ['md5=abcd', undefined],
    [null, undefined],
  ];
  for (const [header, sum] of headers) assert.equal(parseChecksum(header), sum);
});
