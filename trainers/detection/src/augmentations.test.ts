import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { unchangedImage, renderAugmented, augment } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';

const side = 64;
/** Each image is dark except for its white box. */
const images = [
  { boxes: [{ label: 0, left: 0.25, top: 0.125, right: 0.5, bottom: 0.625 }] },
  { boxes: [{ label: 1, left: 0.5, top: 0.5, right: 0.875, bottom: 0.75 }] },
  { boxes: [] },
];
const pixels = images.map(({ boxes }) => {
  const data = new Uint8Array(side * side * 3).fill(20);
  for (const { left, top, right, bottom } of boxes) {
    for (let y = top * side; y < bottom * side; y++)
      data.fill(255, (y * side + left * side) * 3, (y * side + right * side) * 3);
  }
  return data;
});
const empty = new Uint8Array();
function drawn(view: AugmentedImage): Float32Array {
  const into = new Float32Array(side * side * 3).fill(-1);
  renderAugmented(view, { pixelsOf: (image) => pixels[image] ?? empty, from: side, side }, into, 0);
  return into;
}

test('the plain view is the image, the mirrored one its mirror image with its boxes', () => {
  const plain = unchangedImage(images, 0);
  assert.deepEqual(plain.boxes, images[0]?.boxes);
  assert.deepEqual(drawn(plain).map(Math.round), Float32Array.from(pixels[0] ?? empty));
  const mirrored = unchangedImage(images, 0, true);
  assert.deepEqual(mirrored.boxes, [{ label: 0, left: 0.5, top: 0.125, right: 0.75, bottom: 0.625 }]);
  const image = drawn(mirrored);
  assert.ok(Math.abs((image[(20 * side + 40) * 3] ?? 0) - 255) < 0.01);
  assert.ok(Math.abs((image[(20 * side + 20) * 3] ?? 0) - 20) < 0.01);
});

test('in every view, of every kind, the boxes lie where the white is, inside of the image', () => {
  const kinds = new Set<number>();
  for (let number = 0; number < 60; number++) {
    for (const index of images.keys()) {
      const view = augment(images, index, number, seeded('view', index, number));
      kinds.add(view.patches.length);
      const image = drawn(view);
      assert.ok(
        image.every((value) => value >= 0),
        `view ${number} leaves no hole`,
      );
      for (const { left, top, right, bottom } of view.boxes) {
        assert.ok(left >= 0 && top >= 0 && right <= 1 && bottom <= 1 && right > left && bottom > top);
        const [x, y] = [Math.floor(((left + right) / 2) * side), Math.floor(((top + bottom) / 2) * side)];
        const value = image[(y * side + x) * 3] ?? 0;
        assert.ok(value > 130, `view ${number} of image ${index}: ${value} in the middle of a box`);
      }
    }
  }
  assert.ok(kinds.has(1) && kinds.has(2) && kinds.has(4), 'zoomed, pasted, mosaic');
});

test('the same number gives the same view', () => {
  const view = (seed: number): AugmentedImage => augment(images, 0, 5, seeded('again', seed));
  assert.deepEqual(view(1), view(1));
  assert.notDeepEqual(view(1), view(2));
});
