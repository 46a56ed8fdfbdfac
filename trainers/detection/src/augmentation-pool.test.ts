import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { FeatureCache, quantizationSteps } from './feature-extractor.ts';
import { AugmentationPool } from './augmentation-pool.ts';
import { emptyFeatures, sizeOf } from './feature-maps.ts';
import type { Features } from './feature-maps.ts';
import type { AugmentedImage } from './augmentations.ts';

const side = 32;
const cells = 64;
const steps = new Float32Array(128).fill(0.01);

test('features come back as they were written, the neck to a step of a byte', async () => {
  await using folder = await tempFolder();
  const written = emptyFeatures(side);
  for (const [i] of written.neck.entries()) written.neck[i] = (i % 250) / 100;
  const others = ['deep', 'kinds', 'parts'] as const;
  for (const name of others) written[name].forEach((_, i, all) => (all[i] = i / 7 - name.length));
  const file = new FeatureCache(path.join(folder.path, 'features'), side, quantizationSteps(written.neck));
  const other = emptyFeatures(side);
  other.parts.fill(1);
  file.write(3, written);
  file.write(1, other);
  const read = {
    neck: new Uint8Array(2 * written.neck.length),
    deep: new Float32Array(2 * sizeOf('deep', side)),
    kinds: new Float32Array(2 * sizeOf('kinds', side)),
    parts: new Float32Array(2 * sizeOf('parts', side)),
  };
  file.read(3, 1, read);
  file.read(1, 0, read);
  const scale = quantizationSteps(written.neck);
  for (const [i, value] of written.neck.entries()) {
    const step = scale[Math.floor(i / cells)] ?? 0;
    assert.ok(Math.abs((read.neck[written.neck.length + i] ?? 0) * step - value) <= 0.51 * step);
  }
  for (const name of others) {
    for (const [i, value] of written[name].entries()) {
      const found = read[name][written[name].length + i] ?? 99;
      assert.ok(Math.abs(found - value) <= Math.abs(value) * 1e-3 + 1e-3, `${name} ${i}: ${found} for ${value}`);
    }
  }
  assert.ok(read.neck.subarray(0, written.neck.length).every((byte) => byte === 0));
  assert.deepEqual([read.parts[0], read.kinds[0]], [1, 0]);
  assert.throws(() => file.read(9, 0, read), /features of view 9/);
  file.close();
});

async function grown(slots: number, views: number): Promise<{ pool: AugmentationPool; seen: AugmentedImage[] }> {
  await using folder = await tempFolder();
  const file = new FeatureCache(path.join(folder.path, 'features'), side, steps);
  const seen: AugmentedImage[] = [];
  const images = Array.from({ length: 5 }, (_, i) => ({
    boxes: [{ label: i, left: 0.4, top: 0.4, right: 0.6, bottom: 0.6 }],
  }));
  const features = (view: AugmentedImage): Promise<Features> => {
    seen.push(view);
    return Promise.resolve(emptyFeatures(side));
  };
  const pool = new AugmentationPool({ images, slots, file, features, seed: 1 });
  for (let i = 0; i < views; i++) await pool.grow();
  file.close();
  return { pool, seen };
}

test('first every image itself, then its mirror image, then other views of it', async () => {
  const { pool, seen } = await grown(20, 15);
  assert.equal(pool.size, 15);
  const round = (from: number): number[] =>
    seen
      .slice(from, from + 5)
      .map(({ patches: parts }) => parts[0]?.image ?? -1)
      .toSorted();
  for (const from of [0, 5, 10]) assert.deepEqual(round(from), [0, 1, 2, 3, 4]);
  assert.ok(seen.slice(0, 5).every(({ patches: parts }) => parts[0]?.mirrored === false));
  assert.ok(seen.slice(5, 10).every(({ patches: parts }) => parts[0]?.mirrored === true));
});

test('with fewer slots than views the oldest make room, and their boxes go with them', async () => {
  const { pool, seen } = await grown(7, 10);
  assert.equal(pool.size, 7);
  assert.deepEqual(
    [0, 1, 2, 3].map((slot) => pool.boxes(slot)),
    [7, 8, 9, 3].map((view) => seen[view]?.boxes),
  );
});

test('slots are drawn in random order, each once before any again', async () => {
  const { pool } = await grown(10, 10);
  const [first, second] = [pool.sample(10), pool.sample(10)];
  assert.equal(new Set(first).size, 10);
  assert.equal(new Set(second).size, 10);
  assert.notDeepEqual(first, second);
});
