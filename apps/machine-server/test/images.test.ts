import { errorCodeOf } from '@platform/contract/errors/errors';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { decodeImage } from '../src/images/decoder.ts';
import { exifOrientation } from '../src/images/orientation.ts';
import { maxImageBytes } from '../src/images/image.ts';
import { resize } from '../src/images/resize.ts';
import { createJpegCodec } from '../src/images/jpeg-codec.ts';
import { jpeg, jpegWasm } from './codecs.ts';
import { colourImage } from './colour-images.ts';

/** Largest and mean difference of two images, in steps of 0 to 255. */
function difference(a: Uint8Array, b: Uint8Array): { most: number; mean: number } {
  assert.equal(a.length, b.length);
  let most = 0;
  let sum = 0;
  for (let i = 0; i < a.length; i++) {
    const d = Math.abs((a[i] ?? 0) - (b[i] ?? 0));
    most = Math.max(most, d);
    sum += d;
  }
  return { most, mean: sum / a.length };
}

const asSharp = (bytes: Uint8Array, side?: number): Promise<Buffer> => {
  const image = sharp(bytes).autoOrient();
  const sized = side === undefined ? image : image.resize(side, side, { fit: 'fill' });
  return sized.flatten({ background: '#fff' }).toColourspace('srgb').raw().toBuffer();
};

test('what sharp sees in a file is what we see', async () => {
  const base = sharp(await colourImage('green', { format: 'png' }));
  const other = await colourImage('red', { width: 900, height: 700 });
  const rows: [string, Buffer, most: number][] = [
    ['jpeg 4:4:4', await base.clone().jpeg({ chromaSubsampling: '4:4:4', quality: 95 }).toBuffer(), 0],
    ['jpeg 4:2:0, as of a camera', await base.clone().jpeg().toBuffer(), 0],
    ['progressive jpeg', await base.clone().jpeg({ progressive: true }).toBuffer(), 0],
    ['jpeg with another image behind it', Buffer.concat([await base.clone().jpeg().toBuffer(), other]), 0],
    ['grey jpeg', await base.clone().greyscale().jpeg().toBuffer(), 0],
    ['png', await base.clone().png().toBuffer(), 0],
    ['png with palette', await base.clone().png({ palette: true, colours: 16 }).toBuffer(), 0],
    ['png with two colours', await base.clone().png({ palette: true, colours: 2 }).toBuffer(), 0],
    ['png with transparency', await base.clone().ensureAlpha(0.5).png().toBuffer(), 1],
    ['grey png', await base.clone().greyscale().png().toBuffer(), 0],
    ['interlaced png', await base.clone().png({ progressive: true }).toBuffer(), 0],
    ['16 bit png', await base.clone().toColourspace('rgb16').png().toBuffer(), 1],
  ];
  for (const [name, bytes, most] of rows) {
    const { width, height, rgb } = await decodeImage(bytes, name, jpeg);
    assert.deepEqual([width, height], [120, 90], name);
    const wanted = await asSharp(bytes);
    const got = difference(rgb, wanted);
    assert.ok(got.most <= most, `${name}: differs by ${got.most}`);
  }
});

test('a decoder that could not be read once, as without a free file descriptor, is read again', async () => {
  const bytes = await colourImage('green');
  const reads = { failed: 0 };
  const codec = createJpegCodec({
    encoder: jpegWasm.encoder,
    decoder: () => (reads.failed++ === 0 ? Promise.reject(new Error('EMFILE')) : jpegWasm.decoder()),
  });
  await assert.rejects(decodeImage(bytes, 'first', codec), /EMFILE/);
  assert.equal((await decodeImage(bytes, 'second', codec)).width, 120);
});

test('every EXIF orientation is turned upright', async () => {
  const bytes = await colourImage('blue', { width: 64, height: 40 });
  for (let orientation = 1; orientation <= 8; orientation++) {
    const held = await sharp(bytes).withMetadata({ orientation }).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer();
    assert.equal(exifOrientation(held), orientation);
    const { rgb } = await decodeImage(held, 'held', jpeg);
    assert.ok(difference(rgb, await asSharp(held)).mean < 1, `orientation ${orientation}`);
  }
});

test('a resized image is what sharp makes of it with fit "fill"', async () => {
  const rows: [width: number, height: number, side: number][] = [
    [640, 480, 160],
    [120, 300, 160],
    [90, 70, 224],
    [1600, 1200, 96],
    [160, 160, 160],
  ];
  for (const [width, height, side] of rows) {
    const bytes = await colourImage('red', { width, height, format: 'png' });
    const { rgb } = resize(await decodeImage(bytes, 'image', jpeg), side, side);
    const { most, mean } = difference(rgb, await asSharp(bytes, side));
    assert.ok(mean < 1 && most <= 24, `${width} × ${height} to ${side}: mean ${mean}, most ${most}`);
  }
});

function pngChunk(type: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content, Buffer.alloc(4)]);
}

/** A PNG of `width` × `height` with any pixels and wrong checksums. */
function roughPng(width: number, height: number, pixels: Uint8Array): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A progressive JPEG whose last scan is repeated: some kilobytes that take as long to decode as many images. */
async function manyScans(scans: number): Promise<Buffer> {
  const bytes = await sharp(await colourImage('red'))
    .jpeg({ progressive: true })
    .toBuffer();
  const last = bytes.subarray(bytes.lastIndexOf(Buffer.from([0xff, 0xda])), -2);
  return Buffer.concat([bytes.subarray(0, -2), ...Array.from({ length: scans }, () => last), bytes.subarray(-2)]);
}

test('a file that is not an image is refused with its name and a reason', async () => {
  const jpegFile = await colourImage('red');
  const png = await colourImage('red', { format: 'png' });
  const hugeJpeg = Buffer.from(jpegFile);
  const frame = hugeJpeg.indexOf(Buffer.from([0xff, 0xc0]));
  hugeJpeg.writeUInt16BE(60_000, frame + 5);
  hugeJpeg.writeUInt16BE(60_000, frame + 7);
  const twelveBits = Buffer.from(jpegFile);
  twelveBits.writeUInt8(12, frame + 4);
  const rows: [string, Uint8Array][] = [
    ['empty', new Uint8Array()],
    ['text', Buffer.from('hello')],
    ['webp', await sharp(jpegFile).webp().toBuffer()],
    ['jpeg cut off in its header', jpegFile.subarray(0, 300)],
    ['jpeg cut off in its pixels', jpegFile.subarray(0, jpegFile.length / 2)],
    ['jpeg without its last byte', jpegFile.subarray(0, -1)],
    ['jpeg of three bytes', jpegFile.subarray(0, 3)],
    ['jpeg of 12 bits', twelveBits],
    ['jpeg in CMYK', await sharp(jpegFile).toColourspace('cmyk').jpeg().toBuffer()],
    ['jpeg of a thousand scans', await manyScans(1000)],
    ['png cut off', png.subarray(0, png.length / 2)],
    ['jpeg of 3600 megapixels', hugeJpeg],
    ['png of 3600 megapixels', roughPng(60_000, 60_000, deflateSync(Buffer.alloc(1000)))],
    ['png that unpacks to 400 MB', roughPng(10, 10, deflateSync(Buffer.alloc(400_000_000)))],
    ['png with wrong checksums', roughPng(2, 2, deflateSync(Buffer.alloc(14)))],
    ['too large a file', Buffer.concat([jpegFile, Buffer.alloc(maxImageBytes)])],
  ];
  for (const [name, bytes] of rows) {
    await assert.rejects(
      decodeImage(bytes, name, jpeg),
      (error: Error) => errorCodeOf(error) === 'INVALID_IMAGE' && error.message.includes(name),
      name,
    );
  }
});

test('a broken file does not disturb the next, also at once', async () => {
  const bytes = await colourImage('blue');
  const broken = Buffer.from(bytes);
  broken.writeUInt8(12, broken.indexOf(Buffer.from([0xff, 0xc0])) + 4);
  const wanted = await asSharp(bytes);
  const decodings = [bytes, broken, bytes, broken, bytes].map((file) => decodeImage(file, 'image', jpeg));
  for (const [at, decoding] of (await Promise.allSettled(decodings)).entries()) {
    if (at % 2 === 1) assert.equal(decoding.status, 'rejected');
    else assert.ok(decoding.status === 'fulfilled' && difference(decoding.value.rgb, wanted).most === 0);
  }
});

test('an image that uses 12 of its 16 bits is as bright as with 8', async () => {
  const [width, height] = [40, 30];
  const bytes = Uint8Array.from({ length: width * height * 4 }, (_, at) => (at % 4 === 3 ? 255 : (at * 7) % 256));
  const ofCamera = Uint16Array.from(bytes, (value, at) => (at % 4 === 3 ? 65_535 : value << 4));
  const png = await sharp(ofCamera, { raw: { width, height, channels: 4 } })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  const wanted = bytes.filter((_, at) => at % 4 !== 3);
  assert.ok(difference((await decodeImage(png, 'of a camera', jpeg)).rgb, wanted).most <= 1);
});
