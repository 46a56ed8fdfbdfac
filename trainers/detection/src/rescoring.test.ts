/** Means over regions of boxes, and the regression on them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyCells } from './feature-maps.ts';
import type { CellMap } from './feature-maps.ts';
import { finalBoxes, poolBox, pooledSize, regionScales, rescore } from './rescoring.ts';
import { boxSamples, fitRescoring } from './rescoring-fit.ts';

const side = 128;
const taps = [
  { value: 1, channels: 5, stride: 32 },
  { value: 2, channels: 3, stride: 16 },
];
/** Two channels that show the objects: the first label on the left, the second on the right; the others are constant. */
function cells(): readonly CellMap[] {
  const maps = emptyCells(taps, side);
  const { values, edge } = maps[1] ?? { values: new Float32Array(), edge: 0 };
  for (let y = 2; y < 6; y++) {
    for (let x = 0; x < 4; x++) values[y * edge + x] = 1;
    for (let x = 4; x < 8; x++) values[edge ** 2 + y * edge + x] = 1;
  }
  return maps;
}
const left = { left: 0, right: 0.5, top: 0.25, bottom: 0.75 };
const right = { ...left, left: 0.5, right: 1 };
/** Index of the first channel of a region of the second map. */
const firstOf = (region: number): number => regionScales.length * 5 + region * 3;

test('features are means over the box, over its surroundings inside the image, and over its middle', () => {
  const pooled = poolBox(cells(), left);
  assert.equal(pooled.length, pooledSize(taps));
  const [box = 0, around = 0, middle = 0] = [0, 1, 2].map((region) => pooled[firstOf(region)]);
  assert.ok(Math.abs(box - 1) < 1e-6 && Math.abs(middle - 1) < 1e-6);
  // 4 × 4 of the 5 × 6 cells: the left edge is that of the image.
  assert.ok(Math.abs(around - 16 / 30) < 1e-6, `${around}`);
  const shifted = poolBox(cells(), { ...left, left: 0.0625, right: 0.5625 });
  assert.ok(Math.abs((shifted[firstOf(0)] ?? 0) - 7 / 8) < 1e-6);
});

test('an empty box has no features', () => {
  const pooled = poolBox(cells(), { left: 1, right: 1, top: 0.5, bottom: 0.5 });
  assert.ok(pooled.every((value) => value === 0));
});

test('what is inside a box changes its score and the order', async () => {
  const truth = [
    { ...left, label: 0 },
    { ...right, label: 1 },
  ];
  const wrong = { left: 0.2, right: 0.8, top: 0, bottom: 0.2, label: 0, score: 0.6 };
  const found = [
    { ...right, label: 0, score: 0.5 },
    { ...left, label: 0, score: 0.4 },
  ];
  const samples = Array.from({ length: 300 }, () => boxSamples(cells(), truth, [wrong, ...found])).flat();
  assert.deepEqual(
    samples.slice(0, 5).map(({ label, fit }) => [label, fit]),
    [
      [0, 1],
      [1, 1],
      [0, 0],
      [1, 1],
      [0, 1],
    ],
  );
  const rescoring = await fitRescoring(taps, samples, 2, 1, new AbortController().signal);
  const [first, ...others] = rescore(rescoring, found, cells());
  assert.ok(first?.left === 0 && first.score > 0.5, JSON.stringify(first));
  assert.ok(
    others.every(({ score }) => score < 0.4),
    JSON.stringify(others),
  );
  const [kept] = finalBoxes(undefined, found, cells());
  assert.equal(kept?.score, 0.5);
});
