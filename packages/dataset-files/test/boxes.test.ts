import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { boxOrLeftOut, frameOf, type Shape } from '../src/boxes.ts';
import { imageHeader, type ImageHeader } from '../src/image-header.ts';
import { pngStart } from './case-files.ts';

const header = (orientation: number, width = 120, height = 80): ImageHeader => ({
  type: 'jpg',
  width,
  height,
  orientation,
  upright: orientation >= 5 ? { width: height, height: width } : { width, height },
});
const box = (left: number, top: number, right: number, bottom: number): Shape => ({
  kind: 'box',
  edges: [left, top, right, bottom],
});
const edges = (shape: Shape, image: ImageHeader, declared?: { width: number; height: number }) => {
  const warnings: string[] = [];
  const frame = frameOf(declared, image, (warning, example) => warnings.push(warning + example));
  const outcome = boxOrLeftOut({ label: 'cup', shape }, frame);
  const { width, height } = image.upright;
  return {
    warnings,
    pixels:
      'box' in outcome
        ? [
            outcome.box.xMin * width,
            outcome.box.yMin * height,
            outcome.box.xMax * width,
            outcome.box.yMax * height,
          ].map((edge) => Number(edge.toFixed(6)))
        : outcome.leftOut,
  };
};

test('coordinates of the stored image are turned upright, by the size that the file states', () => {
  const stored = { width: 120, height: 80 };
  const table: [orientation: number, upright: number[]][] = [
    [5, [20, 10, 40, 30]],
    [6, [40, 10, 60, 30]],
    [7, [40, 90, 60, 110]],
    [8, [20, 90, 40, 110]],
  ];
  for (const [orientation, upright] of table) {
    const { pixels, warnings } = edges(box(10, 20, 30, 40), header(orientation), stored);
    assert.deepEqual([pixels, warnings], [upright, []], String(orientation));
  }
  // Almost square: the exact size decides.
  assert.deepEqual(edges(box(0, 0, 50, 101), header(6, 100, 101), { width: 100, height: 101 }).pixels, [0, 0, 101, 50]);
  assert.deepEqual(edges(box(0, 0, 50, 100), header(6, 100, 101), { width: 101, height: 100 }).pixels, [0, 0, 50, 100]);
  // The size of the upright image, also scaled, and no size: the coordinates are upright already.
  assert.deepEqual(edges(box(10, 20, 30, 40), header(6), { width: 80, height: 120 }).pixels, [10, 20, 30, 40]);
  assert.deepEqual(edges(box(10, 20, 30, 40), header(6), { width: 160, height: 240 }).pixels, [5, 10, 15, 20]);
  assert.deepEqual(edges(box(10, 20, 30, 40), header(6)).pixels, [10, 20, 30, 40]);
});

test('what the sizes cannot decide is warned about', () => {
  assert.match(edges(box(1, 1, 9, 9), header(3), { width: 120, height: 80 }).warnings.join(), /EXIF turns images/);
  assert.match(edges(box(1, 1, 9, 9), header(6, 80, 80), { width: 80, height: 80 }).warnings.join(), /EXIF turns/);
  assert.match(
    edges(box(1, 1, 9, 9), header(1), { width: 640, height: 640 }).warnings.join(),
    /640 × 640, the image has/,
  );
});

test('every box that is taken lies in the image and has an area', () => {
  const edge = fc.oneof(fc.double({ min: -500, max: 500, noNaN: true }), fc.constantFrom(0, 120, 80, 1e300, -1e300));
  fc.assert(
    fc.property(edge, edge, edge, edge, fc.integer({ min: 1, max: 8 }), (a, b, c, d, orientation) => {
      const frame = { width: 120, height: 80, orientation };
      const outcome = boxOrLeftOut({ label: 'cup', shape: box(a, b, c, d) }, frame);
      if ('leftOut' in outcome) return;
      const { xMin, yMin, xMax, yMax } = outcome.box;
      assert.ok(xMin >= 0 && yMin >= 0 && xMax <= 1 && yMax <= 1 && xMin < xMax && yMin < yMax);
    }),
  );
});

/** A TIFF block with one tag, the orientation. */
function exif(orientation: number, isLittle: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(26));
  view.setUint16(0, isLittle ? 0x4949 : 0x4d4d);
  view.setUint16(2, 42, isLittle);
  view.setUint32(4, 8, isLittle);
  view.setUint16(8, 1, isLittle);
  view.setUint16(10, 0x0112, isLittle);
  view.setUint16(12, 3, isLittle);
  view.setUint32(14, 1, isLittle);
  view.setUint16(18, orientation, isLittle);
  return new Uint8Array(view.buffer);
}
const u32 = (value: number, isLittle = false): number[] => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value, isLittle);
  return [...new Uint8Array(view.buffer)];
};
const text = (value: string): number[] => [...new TextEncoder().encode(value)];

function jpeg(block: Uint8Array, more: number[] = []): Uint8Array {
  const app1 = [0xff, 0xe1, 0, block.length + 8, ...text('Exif'), 0, 0, ...block];
  return Uint8Array.from([
    0xff,
    0xd8,
    ...app1,
    ...more,
    0xff,
    0xc2,
    0,
    17,
    8,
    0,
    80,
    0,
    120,
    3,
    ...Array<number>(9).fill(0),
  ]);
}
const png = (block: Uint8Array): Uint8Array =>
  Uint8Array.from([...pngStart(120, 80).subarray(0, 33), ...u32(block.length), ...text('eXIf'), ...block, ...u32(0)]);
function webp(block: Uint8Array): Uint8Array {
  const canvas = [8, 0, 0, 0, 119, 0, 0, 79, 0, 0];
  const chunks = [...text('VP8X'), ...u32(10, true), ...canvas, ...text('VP8 '), ...u32(3, true), 1, 2, 3, 0];
  return Uint8Array.from([
    ...text('RIFF'),
    ...u32(0),
    ...text('WEBP'),
    ...chunks,
    ...text('EXIF'),
    ...u32(block.length, true),
    ...block,
  ]);
}

test('the header of JPEG, PNG and WebP: size and orientation, in both byte orders', () => {
  for (const isLittle of [true, false])
    for (const [type, bytes] of [
      ['jpg', jpeg(exif(6, isLittle))],
      ['png', png(exif(6, isLittle))],
      ['webp', webp(exif(6, isLittle))],
    ] as const) {
      const expected = { type, width: 120, height: 80, orientation: 6, upright: { width: 80, height: 120 } };
      assert.deepEqual(imageHeader(bytes, true), { header: expected });
      // Each shorter start of the file asks for more, or is broken if it is the whole file.
      for (let length = 12; length < bytes.length - 12; length++) {
        const found = imageHeader(bytes.subarray(0, length), false);
        assert.ok('wanted' in found || 'header' in found, `${type} ${length}`);
      }
      assert.match(JSON.stringify(imageHeader(bytes.subarray(0, 20), true)), /broken image: its header/);
    }
});

test('bytes of any kind give an answer', () => {
  const starts = [jpeg(exif(6, true)), png(exif(6, false)), webp(exif(3, true))];
  fc.assert(
    fc.property(
      fc.constantFrom(...starts),
      fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 6 }),
      fc.boolean(),
      (start, changes, isWhole) => {
        const bytes = Uint8Array.from(start);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        const found = imageHeader(bytes, isWhole);
        assert.ok('header' in found || 'problem' in found || !isWhole);
      },
    ),
  );
});
