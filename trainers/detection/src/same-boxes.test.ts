import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { LabelledBox } from './boxes.ts';
import { sameBoxes } from './same-boxes.ts';

/** @param text - label, centre and size in percent of the image: `a 50,50 20x30`. */
const parse = (text: string): LabelledBox[] =>
  text
    .split('; ')
    .filter((one) => one !== '')
    .map((one) => {
      const [label = '', x = 0, y = 0, width = 0, height = 0] = one
        .split(/[ ,x]/)
        .map((part, i) => (i === 0 ? part : Number(part)));
      const [across, down] = [Number(width) / 2, Number(height) / 2];
      return {
        label: String(label).charCodeAt(0),
        left: (Number(x) - across) / 100,
        right: (Number(x) + across) / 100,
        top: (Number(y) - down) / 100,
        bottom: (Number(y) + down) / 100,
      };
    });

const rows: [name: string, a: string, b: string, byFeatures: boolean, byThumbnails: boolean][] = [
  ['no boxes', '', '', true, true],
  ['the same box', 'a 50,50 20x30', 'a 50,50 20x30', true, true],
  ['another label', 'a 50,50 20x30', 'b 50,50 20x30', false, false],
  ['one box more', 'a 50,50 20x30', 'a 50,50 20x30; a 20,20 10x10', false, false],
  ['a box of none', 'a 50,50 20x30', '', false, false],
  ['drawn again', 'a 50,50 20x30', 'a 50.5,49 21x31', true, true],
  ['shifted by 4 %', 'a 50,50 20x30', 'a 54,46 20x30', true, false],
  ['moved by 6 %', 'a 50,50 20x30', 'a 50,56 20x30', false, false],
  ['moved along one axis', 'a 50,50 20x30', 'a 80,50 20x30', false, false],
  ['a small box that a shift leaves without overlap', 'a 50,50 3x3', 'a 54,50 3x3', true, false],
  ['larger by a fifth', 'a 50,50 20x30', 'a 50,50 24x36', true, true],
  ['twice as wide', 'a 50,50 20x30', 'a 50,50 40x30', false, false],
  [
    'another order',
    'a 20,20 10x10; b 70,30 10x20; a 60,80 30x10',
    'a 60,80 30x10; a 20,20 10x10; b 70,30 10x20',
    true,
    true,
  ],
  ['labels exchanged', 'a 20,20 10x10; b 70,30 10x10', 'b 20,20 10x10; a 70,30 10x10', false, false],
  ['one of two moved', 'a 20,20 10x10; a 70,30 10x10', 'a 20,20 10x10; a 70,60 10x10', false, false],
  [
    'corners exchanged: the same coordinates, other boxes',
    'a 20,20 9x9; a 80,80 9x9',
    'a 20,80 9x9; a 80,20 9x9',
    false,
    false,
  ],
  ['the nearest box is needed by another one', 'a 50,50 9x9; a 54,50 9x9', 'a 49,50 9x9; a 50,50 9x9', true, false],
  ['sizes tell which is which', 'a 50,50 10x10; a 51,50 30x30', 'a 51,50 10x10; a 50,50 30x30', true, true],
  ['two boxes near one', 'a 50,50 9x9; a 51,50 9x9', 'a 50,50 9x9; a 80,50 9x9', false, false],
];
for (const [name, a, b, byFeatures, byThumbnails] of rows) {
  test(`boxes: ${name}`, () => {
    const isSame = sameBoxes();
    for (const [one, other] of [
      [parse(a), parse(b)],
      [parse(b), parse(a)],
    ] as const) {
      assert.equal(isSame(one, other, 'features'), byFeatures);
      assert.equal(isSame(one, other, 'thumbnails'), byThumbnails);
    }
  });
}

const crowd = (seed: number, spread: number): LabelledBox[] => {
  const random = seeded('crowd', seed);
  return Array.from({ length: 200 }, (_, i) => {
    const [left, top, size] = [random() * spread, random() * spread, 0.02 + 0.005 * random()];
    return { label: i % 3, left, top, right: left + size, bottom: top + size };
  });
};
const moved = (boxes: readonly LabelledBox[], by: number): LabelledBox[] =>
  boxes.map((box) => ({ ...box, left: box.left + by, right: box.right + by }));

test('200 boxes in any order: the same answer, and quick, in a crowd as well', () => {
  for (const spread of [0.9, 0.05, 0]) {
    const isSame = sameBoxes();
    const boxes = crowd(1, spread);
    const copies = Array.from({ length: 20 }, (_, i) => shuffled(moved(boxes, 0.001 * i), seeded('order', i)));
    const other = crowd(2, 0.9);
    const started = performance.now();
    for (const copy of copies) {
      assert.ok(isSame(boxes, copy, 'features'));
      assert.ok(!isSame(other, copy, 'features'));
    }
    // 20 pairs that agree and 20 that do not: about 10 ms, or 100 where all boxes lie on each other.
    assert.ok(performance.now() - started < 2000);
  }
});

test('200 boxes of which one has no partner', () => {
  // All centres agree; the sizes of 101 boxes of one image match only 100 of the other.
  const sized = (small: number): LabelledBox[] =>
    Array.from({ length: 200 }, (_, i) => {
      const half = i < small ? 0.02 : 0.05;
      return { label: 0, left: 0.5 - half, right: 0.5 + half, top: 0.5 - half, bottom: 0.5 + half };
    });
  const isSame = sameBoxes();
  const started = performance.now();
  assert.ok(isSame(sized(100), sized(100), 'thumbnails'));
  assert.ok(!isSame(sized(100), sized(101), 'thumbnails'));
  assert.ok(performance.now() - started < 1000);
});
