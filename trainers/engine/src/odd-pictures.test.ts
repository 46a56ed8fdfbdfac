import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import sharp from 'sharp';
import { tempFolder } from '../test/temp-folder.ts';
import { decode } from './pictures.ts';

type Rgb = readonly [number, number, number];
const side = 8;
const red: Rgb = [200, 30, 40];
const blue: Rgb = [20, 60, 210];
const flat = (width: number, height: number, [r, g, b]: Rgb) =>
  sharp({ create: { width, height, channels: 3, background: { r, g, b } } });

/** Left half red, right half blue. */
const halves = async () =>
  flat(40, 20, red).composite([{ input: await flat(20, 20, blue).png().toBuffer(), left: 20, top: 0 }]);
const sixteenBit = Uint16Array.from({ length: 10 * 10 * 3 }, (_, i) => (red[i % 3] ?? 0) * 257);

/** A PNG that says it is 20,000 × 10,000 pixels, as far as its header. */
const hugeHeader = Buffer.from(
  '89504e470d0a1a0a0000000d4948445200004e2000002710080200000000000000000000004944415400000000',
  'hex',
);

/** Expected colour in the first row and in the last. */
const readable: [name: string, bytes: () => Promise<Buffer>, first: Rgb, last: Rgb][] = [
  [
    'EXIF-rotated: upright',
    async () => (await halves()).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer(),
    red,
    blue,
  ],
  ['CMYK', () => flat(20, 20, red).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer(), red, red],
  [
    '16 bits a channel',
    () =>
      sharp(sixteenBit, { raw: { width: 10, height: 10, channels: 3 } })
        .toColourspace('rgb16')
        .png()
        .toBuffer(),
    red,
    red,
  ],
  [
    'animated: its first picture',
    async () => {
      const frames = [await flat(16, 16, red).png().toBuffer(), await flat(16, 16, blue).png().toBuffer()];
      return sharp(frames, { join: { animated: true } })
        .gif({ delay: [10, 10] })
        .toBuffer();
    },
    red,
    red,
  ],
  [
    'grey with transparency: on white',
    () =>
      sharp({ create: { width: 9, height: 9, channels: 4, background: '#80808000' } })
        .toColourspace('b-w')
        .png()
        .toBuffer(),
    [255, 255, 255],
    [255, 255, 255],
  ],
  ['a single pixel', () => flat(1, 1, blue).png().toBuffer(), blue, blue],
];
for (const [name, bytes, first, last] of readable) {
  test(`a picture that is read: ${name}`, async () => {
    await using folder = await tempFolder();
    const file = `${folder.path}/picture`;
    await writeFile(file, await bytes());
    const pixels = await decode(file, side);
    assert.equal(pixels.length, side * side * 3);
    const near = (at: number, wanted: Rgb): void => {
      for (const [c, value] of wanted.entries()) {
        const found = pixels[at + c] ?? -99;
        assert.ok(Math.abs(found - value) <= 28, `${pixels.slice(at, at + 3).join(', ')} for ${wanted.join(', ')}`);
      }
    };
    near(0, first);
    near((side * side - 1) * 3, last);
  });
}

const refused: [name: string, bytes: () => Promise<Buffer>, why: RegExp][] = [
  ['zero bytes', () => Promise.resolve(Buffer.alloc(0)), /empty|unsupported/i],
  ['no picture at all', () => Promise.resolve(Buffer.from('no picture')), /unsupported/i],
  ['200 megapixels, before it is decoded', () => Promise.resolve(hugeHeader), /pixel limit/i],
  [
    'cut off in the middle',
    async () => {
      const whole = await (await halves()).jpeg({ quality: 100 }).toBuffer();
      return whole.subarray(0, whole.length - 200);
    },
    /./,
  ],
];
for (const [name, bytes, why] of refused) {
  test(`a picture that is refused: ${name}`, async () => {
    await using folder = await tempFolder();
    const file = `${folder.path}/picture`;
    await writeFile(file, await bytes());
    await assert.rejects(decode(file, side), why);
  });
}
