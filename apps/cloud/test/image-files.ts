/** Image files of each kind, made when a test needs them. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

/** Pixels that differ, so that a truncated file loses some of them. */
const noise = (width: number, height: number, channels: 3 | 4 = 3) => {
  const bytes = new Uint8Array(width * height * channels);
  for (let i = 0, seed = 1; i < bytes.length; i++) bytes[i] = (seed = (seed * 48_271) % 2_147_483_647) & 255;
  return sharp(bytes, { raw: { width, height, channels } });
};

/** 16 bits per channel, with values from 0 to `largest`. */
const deep = (largest: number, width = 40, height = 30): Promise<Buffer> => {
  const values = new Uint16Array(width * height * 3).map((_, i, { length }) =>
    Math.round((i / (length - 1)) * largest),
  );
  return sharp(values, { raw: { width, height, channels: 3 } })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
};

const chunk = (kind: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
};

/** A PNG file whose header claims this size; it holds one row of zeros. */
function claimed(width: number, height: number): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(Math.min(width, 20_000) + 1))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const zipped = Buffer.from('PK\x03\x04 and the rest of an archive', 'latin1');

/** By name; the name says what the content is, not how a user would name it. */
export async function imageFiles(): Promise<Record<string, Buffer>> {
  const jpeg = await noise(320, 240).jpeg().toBuffer();
  const png = await noise(64, 48).png().toBuffer();
  const webp = await noise(64, 48).webp().toBuffer();
  return {
    jpeg,
    png,
    webp,
    'progressive jpeg': await noise(320, 240).jpeg({ progressive: true }).toBuffer(),
    'grey jpeg': await noise(32, 32).greyscale().jpeg().toBuffer(),
    'cmyk jpeg': await noise(32, 32).toColourspace('cmyk').jpeg().toBuffer(),
    'transparent png': await noise(64, 48, 4).png().toBuffer(),
    'palette png': await noise(64, 48).png({ palette: true }).toBuffer(),
    'turned jpeg': await noise(320, 240).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    'jpeg and archive': Buffer.concat([jpeg, zipped]),
    'png of 16 bits': await deep(65_535),
    'png of 12 bits': await deep(4_095),
    'truncated jpeg': jpeg.subarray(0, jpeg.length >> 1),
    'truncated png': png.subarray(0, png.length >> 1),
    'truncated webp': webp.subarray(0, webp.length >> 1),
    'only a jpeg start': Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
    'random bytes': Buffer.from(Array.from({ length: 4_000 }, (_, i) => (i * 7_919) % 251)),
    'damaged png': Buffer.from(png.map((byte, i) => (i > 60 && i < png.length - 20 ? byte ^ 0x55 : byte))),
    'png of 101 megapixels': claimed(11_000, 9_200),
    'png bomb': claimed(2 ** 31 - 1, 2 ** 31 - 1),
    'png of 99 megapixels without pixels': claimed(11_000, 9_000),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'),
    'svg after a png start': Buffer.from('\x89PNG\r\n\x1a\n<svg xmlns="http://www.w3.org/2000/svg"/>', 'latin1'),
    heic: Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic', 'latin1')]),
    gif: await noise(16, 16).gif().toBuffer(),
    tiff: await noise(16, 16).tiff().toBuffer(),
    text: Buffer.from('It is a note, whatever its name says.\n'),
    empty: Buffer.alloc(0),
  };
}

/** Writes a file into a folder. @returns its path. */
export async function stored(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const file = path.join(folder, name.replaceAll(' ', '-'));
  await writeFile(file, bytes);
  return file;
}
