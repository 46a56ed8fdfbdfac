import assert from 'node:assert/strict';
import test from 'node:test';
import sharp from 'sharp';
import { boxesProblem, viewProblem } from './live-service.ts';

const imageOf = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'rgb(10, 120, 40)' } });

const rows: readonly [what: string, make: () => Promise<Uint8Array>, problem: RegExp | undefined][] = [
  ['a JPEG of 640 pixels', () => imageOf(640, 480).jpeg().toBuffer(), undefined],
  ['a high one of 640 pixels', () => imageOf(10, 640).jpeg().toBuffer(), undefined],
  ['a JPEG of more pixels', () => imageOf(641, 480).jpeg().toBuffer(), /^641 × 480 pixels: at most 640 a side$/],
  ['a PNG', () => imageOf(64, 48).png().toBuffer(), /^an image of another type: a JPEG image$/],
  ['text', async () => Buffer.from('<script>'), /a JPEG image$/],
  ['the start of a JPEG', async () => Buffer.from([0xff, 0xd8, 0xff]), /a JPEG image$/],
  ['more than 60,000 bytes', async () => Buffer.alloc(60_001), /^60001 bytes: at most 60000 bytes$/],
];

for (const [what, make, problem] of rows)
  test(`a sent image is checked: ${what}`, async () => {
    const found = viewProblem(await make());
    if (problem === undefined) assert.equal(found, undefined);
    else assert.match(`${found?.value}: ${found?.limit}`, problem);
  });

const box = { label: 'cow', confidence: 0.9, xMin: 0.1, yMin: 0.2, xMax: 0.5, yMax: 0.6 };
const boxRows: readonly [what: string, boxes: readonly (typeof box)[], problem: RegExp | undefined][] = [
  ['none', [], undefined],
  ['as many as there may be', Array.from({ length: 50 }, () => box), undefined],
  ['one more', Array.from({ length: 51 }, () => box), /^51: at most 50$/],
  ['the whole image', [{ ...box, confidence: 1, xMin: 0, yMin: 0, xMax: 1, yMax: 1 }], undefined],
  ['beyond the image', [box, { ...box, xMax: 1.001 }], /^0\.9 0\.1 0\.2 1\.001 0\.6: shares/],
  ['without an area', [{ ...box, xMax: 0.1 }], /shares/],
  ['upside down', [{ ...box, yMax: 0.1 }], /shares/],
  ['a confidence that is not a number', [{ ...box, confidence: Number.NaN }], /shares/],
];
for (const [what, boxes, problem] of boxRows)
  test(`sent boxes are checked: ${what}`, () => {
    const found = boxesProblem(boxes);
    if (problem === undefined) assert.equal(found, undefined);
    else assert.match(`${found?.value}: ${found?.limit}`, problem);
  });
