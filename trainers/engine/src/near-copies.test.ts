import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { foundBy, NearCopyFinder } from './near-copies.ts';
import { readEfficientnet } from './pretrained/efficientnet.ts';
import { seeded } from './random.ts';

const side = 96;
/** Coloured rectangles by `scene`, with the noise of a camera by `shot`. */
function sceneOf(scene: number, shot: number): Uint8Array {
  const [shapes, noise] = [seeded('scene', scene), seeded('noise', scene, shot)];
  const values = new Float64Array(side * side * 3).fill(140);
  for (let i = 0; i < 12; i++) {
    const [x0, y0, w, h] = [shapes() * side, shapes() * side, 6 + shapes() * 40, 6 + shapes() * 40];
    const colour = [shapes() * 255, shapes() * 255, shapes() * 255];
    for (let y = Math.floor(y0); y < Math.min(side, y0 + h); y++) {
      for (let x = Math.floor(x0); x < Math.min(side, x0 + w); x++) {
        for (let c = 0; c < 3; c++) values[(y * side + x) * 3 + c] = colour[c] ?? 0;
      }
    }
  }
  return Uint8Array.from(values, (value) => Math.min(255, Math.max(0, value + (noise() - 0.5) * 16)));
}
const options = { threads: 2, signal: new AbortController().signal };
const open = (images: readonly Uint8Array[]): Promise<NearCopyFinder> =>
  NearCopyFinder.open(
    readEfficientnet(),
    { count: images.length, side, pixels: (i) => images[i] ?? new Uint8Array() },
    options,
  );

const folder = fileURLToPath(new URL('../../../datasets/objects-10/sources/photographs', import.meta.url));
/** Photographs, each followed by a crop of 95 % of both edges as a poor JPEG. */
async function photographsAndCrops(): Promise<Uint8Array[]> {
  const images: Uint8Array[] = [];
  for (const file of readdirSync(folder).filter((name) => name !== 'LICENSE')) {
    const source = path.join(folder, file);
    const { width, height } = await sharp(source).metadata();
    const part = { left: Math.round(width * 0.04), top: Math.round(height * 0.01) };
    const size = { width: Math.floor(width * 0.95), height: Math.floor(height * 0.95) };
    const crop = await sharp(source)
      .extract({ ...part, ...size })
      .jpeg({ quality: 60 })
      .toBuffer();
    for (const one of [source, crop])
      images.push(
        await sharp(one).removeAlpha().toColourspace('srgb').resize(side, side, { fit: 'fill' }).raw().toBuffer(),
      );
  }
  return images;
}

test('a crop of a photograph is a near copy; another photograph is none', async () => {
  const images = await photographsAndCrops();
  const finder = await open(images);
  const all = [...images.keys()];
  const found: string[] = [];
  await finder.eachPair(all, all, (a, b) => void found.push(`${a} ${b}`));
  await finder.release();
  const wanted = all.filter((i) => i % 2 === 0).map((i) => `${i} ${i + 1}`);
  assert.deepEqual(
    found.filter((pair) => !wanted.includes(pair)),
    [],
    'no pair is wrong',
  );
  assert.ok(found.length >= 0.7 * wanted.length, `${found.length} of ${wanted.length} are found`);
});

test('shots of one scene alone are near copies, though noise is all that standardized features differ by', async () => {
  const images = Array.from({ length: 8 }, (_, i) => sceneOf(1, i));
  const finder = await open(images);
  const all = [...images.keys()];
  let pairs = 0;
  await finder.eachPair(all, all, () => pairs++);
  await finder.release();
  assert.equal(pairs, 28);
});

test('more images than a block: every pair is compared once, of two lists as well', async () => {
  // The features of equal images are equal, so each pair has cosine 1.
  const image = sceneOf(1, 0);
  const finder = await open(Array.from({ length: 300 }, () => image));
  const all = Array.from({ length: 300 }, (_, i) => i);
  const seen = new Set<number>();
  let count = 0;
  await finder.eachLikeness(all, all, (a, b, { plain }) => {
    count++;
    seen.add(a * 300 + b);
    assert.ok(Math.abs(plain - 1) < 1e-4);
  });
  assert.deepEqual([count, seen.size], [44_850, 44_850]);
  let between = 0;
  await finder.eachLikeness(all.slice(0, 270), all.slice(270), () => between++);
  await finder.release();
  assert.equal(between, 8100);
});

const rules: [plain: number, standardized: number, difference: number, expected: string][] = [
  [0.5, 0.9, 90, 'features'],
  [0.95, 0.85, 90, 'none'],
  [0.85, 0.1, 3, 'thumbnails'],
  [0.85, 0.1, 5, 'none'],
  [0.75, 0.1, 3, 'none'],
];
for (const [plain, standardized, difference, expected] of rules) {
  test(`near copy: cosines ${plain} and ${standardized}, thumbnails differ by ${difference}: ${expected}`, () =>
    assert.equal(foundBy({ plain, standardized }, () => difference) ?? 'none', expected));
}
