import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { tempFolder } from '../test/temp-folder.ts';
import { renderCurves } from './curves.ts';
import { blockOtherLoaders } from './image-loaders.ts';
import { decode, shorterEdgeOf } from './images.ts';

/** Creates images with every loader; reads them with those of a trainer. */
async function madeBy(bytes: () => Promise<Buffer>): Promise<Buffer> {
  sharp.unblock({ operation: ['VipsForeignLoad'] });
  const made = await bytes();
  blockOtherLoaders();
  return made;
}

type Rgb = readonly [number, number, number];
const side = 8;
const red: Rgb = [200, 30, 40];
const blue: Rgb = [20, 60, 210];
/** sharp's types do not declare it yet. */
const ultraHdr = (image: Sharp): Sharp => (image as Sharp & { withGainMap(): Sharp }).withGainMap();
/** Red in the base image of an Ultra HDR file. */
const toned: Rgb = [165, 25, 32];
const flat = (width: number, height: number, [r, g, b]: Rgb) =>
  sharp({ create: { width, height, channels: 3, background: { r, g, b } } });

/** Left half red, right half blue. */
const halves = async () =>
  flat(40, 20, red).composite([{ input: await flat(20, 20, blue).png().toBuffer(), left: 20, top: 0 }]);
const sixteenBit = Uint16Array.from({ length: 10 * 10 * 3 }, (_, i) => (red[i % 3] ?? 0) * 257);
/** As a camera of 12 bits writes its values into 16. */
const twelveBit = sixteenBit.map((value) => value >> 4);

/** A PNG whose header announces 20,000 × 10,000 pixels. */
const hugeHeader = Buffer.from(
  '89504e470d0a1a0a0000000d4948445200004e2000002710080200000000000000000000004944415400000000',
  'hex',
);

/** Expected colour in the first and in the last row. */
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
    '12 of 16 bits a channel: stretched',
    () =>
      sharp(twelveBit, { raw: { width: 10, height: 10, channels: 3 } })
        .toColourspace('rgb16')
        .png()
        .toBuffer(),
    red,
    red,
  ],
  [
    'animated: its first image',
    async () => {
      const frames = [await flat(16, 16, red).png().toBuffer(), await flat(16, 16, blue).png().toBuffer()];
      return sharp(frames, { join: { animated: true } })
        .webp({ delay: [10, 10], lossless: true })
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
  [
    'Ultra HDR of a phone: the JPEG in it',
    () =>
      ultraHdr(flat(64, 64, red))
        .jpeg()
        .toBuffer(),
    toned,
    toned,
  ],
  ['a single pixel', () => flat(1, 1, blue).png().toBuffer(), blue, blue],
];
for (const [name, bytes, first, last] of readable) {
  test(`an image that is read: ${name}`, async () => {
    await using folder = await tempFolder();
    const file = `${folder.path}/image`;
    await writeFile(file, await madeBy(bytes));
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

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
/** Formats that libvips reads unless they are blocked, by the uploaded file's name. */
const foreign: [name: string, file: string, bytes: () => Promise<Buffer>][] = [
  ['GIF', 'a.gif', () => flat(9, 9, red).gif().toBuffer()],
  ['GIF that says it is a JPEG', 'a.jpg', () => flat(9, 9, red).gif().toBuffer()],
  ['TIFF', 'a.tiff', () => flat(9, 9, red).tiff().toBuffer()],
  ['AVIF', 'a.avif', () => flat(9, 9, red).avif().toBuffer()],
  ['SVG', 'a.svg', () => Promise.resolve(Buffer.from(svg))],
  ['SVG that says it is a PNG', 'a.png', () => Promise.resolve(Buffer.from(svg))],
  ['PDF', 'a.pdf', () => Promise.resolve(Buffer.from('%PDF-1.4\n'))],
  ['libvips', 'a.v', () => Promise.resolve(Buffer.concat([Buffer.from('b6a6f208', 'hex'), Buffer.alloc(200)]))],
  ['a table of numbers', 'a.csv', () => Promise.resolve(Buffer.from('1,2,3\n4,5,6\n'))],
  ['a matrix', 'a.mat', () => Promise.resolve(Buffer.from('2 2\n1 2\n3 4\n'))],
  ['PPM', 'a.ppm', () => Promise.resolve(Buffer.from('P6 1 1 255\nabc'))],
];
for (const [name, file, bytes] of foreign) {
  test(`no loader reads an image of another format: ${name}`, async () => {
    await using folder = await tempFolder();
    await writeFile(`${folder.path}/${file}`, await madeBy(bytes));
    await assert.rejects(decode(`${folder.path}/${file}`, side), /it is not a JPEG, PNG or WebP image/);
    assert.equal(await shorterEdgeOf(`${folder.path}/${file}`), undefined);
  });
}
test('the bytes decide, not the name; the curves of a training are drawn all the same', async () => {
  await using folder = await tempFolder();
  await writeFile(`${folder.path}/a.csv`, await madeBy(() => flat(9, 5, red).png().toBuffer()));
  assert.equal((await decode(`${folder.path}/a.csv`, side)).length, side * side * 3);
  assert.equal(await shorterEdgeOf(`${folder.path}/a.csv`), 5);
  const point = { epoch: 1, loss: 1, validationLoss: null, score: null };
  assert.ok((await renderCurves([point, { ...point, epoch: 2 }], 'ACCURACY')).length > 100);
  await writeFile(`${folder.path}/a.svg`, svg);
  await assert.rejects(decode(`${folder.path}/a.svg`, side), /it is not a JPEG, PNG or WebP image/);
});

const refused: [name: string, bytes: () => Promise<Buffer>, why: RegExp][] = [
  ['zero bytes', () => Promise.resolve(Buffer.alloc(0)), /empty|unsupported/i],
  ['no image at all', () => Promise.resolve(Buffer.from('no image')), /unsupported/i],
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
  test(`an image that is refused: ${name}`, async () => {
    await using folder = await tempFolder();
    const file = `${folder.path}/image`;
    await writeFile(file, await madeBy(bytes));
    await assert.rejects(decode(file, side), why);
  });
}
