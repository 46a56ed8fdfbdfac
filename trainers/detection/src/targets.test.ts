import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBoxes } from './decode.ts';
import { drawTargets, emptyTargets } from './targets.ts';
import type { LabelledBox } from './boxes.ts';

const grid = { batch: 2, side: 64, labels: 2 };
const h = 16;
const one: LabelledBox = { label: 1, left: 0.25, top: 0.125, right: 0.75, bottom: 0.625 };

function drawn(images: LabelledBox[][]) {
  const into = emptyTargets(grid);
  into.heatmap.fill(7);
  into.mask.fill(7);
  drawTargets(images, grid, into);
  return into;
}

test('the centre of a box is 1 in the map of its label, falls off around, and is nothing elsewhere', () => {
  const { heatmap, mask, inverseCount } = drawn([[one], []]);
  const at = (n: number, k: number, y: number, x: number): number => heatmap[((n * 2 + k) * h + y) * h + x] ?? -1;
  assert.equal(at(0, 1, 6, 8), 1);
  assert.ok(at(0, 1, 6, 9) < 1 && at(0, 1, 6, 9) > at(0, 1, 6, 10), 'falls off');
  assert.equal(at(0, 1, 6, 7), at(0, 1, 6, 9));
  assert.equal(at(0, 0, 6, 8), 0, 'other label');
  assert.equal(at(1, 1, 6, 8), 0, 'other image');
  assert.equal(at(0, 1, 0, 0), 0, 'far away');
  assert.equal(
    mask.reduce((a, b) => a + b),
    9,
  );
  assert.equal(inverseCount[0], 1);
  assert.equal(drawn([[one, { ...one, label: 0 }], [one]]).inverseCount[0], Math.fround(1 / 3));
  assert.equal(drawn([[], []]).inverseCount[0], 1);
});

test('a box at the edge, and one smaller than a cell, stay inside of the map', () => {
  for (const box of [
    { label: 0, left: 0, top: 0, right: 0.01, bottom: 0.01 },
    { label: 0, left: 0.99, top: 0.99, right: 1, bottom: 1 },
    { label: 0, left: 0, top: 0, right: 1, bottom: 1 },
  ]) {
    const { heatmap } = drawn([[box], []]);
    assert.equal(heatmap.filter((value) => value === 1).length, 1);
  }
});

test('what the targets say is decoded into the boxes they came from', () => {
  const other: LabelledBox = { label: 0, left: 0.05, top: 0.7, right: 0.2, bottom: 0.95 };
  const { heatmap, distances } = drawn([[one, other], []]);
  const cells = h * h;
  const found = decodeBoxes(heatmap.subarray(0, 2 * cells), distances.subarray(0, 4 * cells), grid);
  assert.equal(found.length, 2);
  for (const box of [one, other]) {
    const hit = found.find(({ label }) => label === box.label);
    for (const key of ['left', 'top', 'right', 'bottom'] as const) {
      assert.ok(Math.abs((hit?.[key] ?? 9) - box[key]) < 1e-6, `${key} of ${box.label}`);
    }
    assert.equal(hit?.score, 1);
  }
});

test('cells up to a third of the way to the edges learn of them, as much for a large box as for a small one', () => {
  const wide: LabelledBox = { label: 0, left: 0, top: 0.25, right: 1, bottom: 0.5 };
  const { mask, distances } = drawn([[wide], []]);
  const trained = [...mask.entries()]
    .filter(([, weight]) => weight > 0)
    .map(([cell]) => [cell % h, Math.floor(cell / h)]);
  assert.deepEqual([...new Set(trained.map(([x]) => x))], [6, 7, 8, 9, 10]);
  assert.deepEqual([...new Set(trained.map(([, y]) => y))], [5, 6, 7]);
  assert.ok(Math.abs(mask.reduce((a, b) => a + b) - 9) < 1e-5);
  const at = (k: number): number => (distances[(k * h + 5) * h + 6] ?? 0) * 16;
  assert.deepEqual([at(0), at(1), at(2), at(3)], [24, 4, 40, 12], 'from the corner of the cell, in pixels');
});

test('where boxes overlap a cell has the edges of the smaller one, whichever is named first', () => {
  const small: LabelledBox = { label: 0, left: 0.4, top: 0.3, right: 0.6, bottom: 0.5 };
  for (const boxes of [
    [one, small],
    [small, one],
  ]) {
    const { distances } = drawn([boxes, []]);
    assert.ok(Math.abs((distances[6 * h + 8] ?? 0) * 16 - (32 - 0.4 * 64)) < 1e-4);
  }
});
