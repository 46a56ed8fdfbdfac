import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  averagePrecision,
  averagePrecisions,
  cocoThresholds,
  meanAveragePrecision,
  rankDetections,
} from './average-precision.ts';
import type { Detection, EvaluatedImage } from './average-precision.ts';
import { iou } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';

const box = (label: number, left: number, top: number, right: number, bottom: number): LabelledBox => ({
  label,
  left,
  top,
  right,
  bottom,
});
const found = (score: number, at: LabelledBox): Detection => ({ ...at, score });

test('intersection over union, by hand', () => {
  const square = box(0, 0, 0, 0.4, 0.4);
  const cases: [string, LabelledBox, number][] = [
    ['itself', square, 1],
    ['elsewhere', box(0, 0.5, 0.5, 0.9, 0.9), 0],
    ['touching', box(0, 0.4, 0, 0.8, 0.4), 0],
    ['moved by half', box(0, 0.2, 0, 0.6, 0.4), 1 / 3],
    ['a quarter of it', box(0, 0.1, 0.1, 0.3, 0.3), 0.25],
    ['without an area', box(0, 0.1, 0.1, 0.1, 0.3), 0],
  ];
  for (const [name, other, wanted] of cases) {
    assert.ok(Math.abs(iou(square, other) - wanted) < 1e-12, name);
    assert.equal(iou(square, other), iou(other, square), name);
  }
  assert.equal(iou(box(0, 0.1, 0.1, 0.1, 0.1), box(0, 0.1, 0.1, 0.1, 0.1)), 0, 'two points');
});

const here = box(0, 0.1, 0.1, 0.3, 0.3);
const there = box(0, 0.6, 0.6, 0.9, 0.9);
const nowhere = box(0, 0.4, 0.05, 0.5, 0.15);

test('average precision, by hand', () => {
  const cases: [string, EvaluatedImage[], number][] = [
    ['all found, nothing else', [{ truth: [here, there], found: [found(0.9, here), found(0.8, there)] }], 1],
    ['nothing found', [{ truth: [here], found: [] }], 0],
    ['a wrong one after the right one', [{ truth: [here], found: [found(0.9, here), found(0.8, nowhere)] }], 1],
    ['a wrong one before it', [{ truth: [here], found: [found(0.8, here), found(0.9, nowhere)] }], 0.5],
    ['one of two', [{ truth: [here, there], found: [found(0.9, here)] }], 0.5],
    // Precisions 1, 1/2, 2/3 at recalls 1/2, 1/2, 1: half at 1, half at 2/3.
    [
      'right, wrong, right',
      [{ truth: [here, there], found: [found(0.9, here), found(0.8, nowhere), found(0.7, there)] }],
      5 / 6,
    ],
    ['found twice: the second is wrong', [{ truth: [here, there], found: [found(0.9, here), found(0.8, here)] }], 0.5],
    [
      'in another image',
      [
        { truth: [here], found: [] },
        { truth: [], found: [found(0.9, here)] },
      ],
      0,
    ],
    ['under another label', [{ truth: [here], found: [found(0.9, { ...here, label: 1 })] }], 0],
    // The precision of the later right one counts for both recalls before it.
    [
      'two images, order by score over both',
      [
        { truth: [here], found: [found(0.6, here)] },
        { truth: [here], found: [found(0.9, nowhere), found(0.7, here)] },
      ],
      2 / 3,
    ],
  ];
  for (const [name, images, wanted] of cases) {
    const value = averagePrecision(rankDetections(images, 0, 0.5));
    assert.ok(Math.abs(value - wanted) < 1e-12, `${name}: ${value} instead of ${wanted}`);
  }
});

test('a found box takes the true box that it overlaps most, and only from the limit on', () => {
  const near = box(0, 0.1, 0.1, 0.3, 0.32);
  const images: EvaluatedImage[] = [{ truth: [near, here], found: [found(0.9, here)] }];
  assert.deepEqual(rankDetections(images, 0, 0.5).order, [{ score: 0.9, isRight: true }]);
  // It matches the better one: a second box at the same position still finds the other.
  const both: EvaluatedImage[] = [{ truth: [near, here], found: [found(0.9, here), found(0.8, here)] }];
  assert.deepEqual(
    rankDetections(both, 0, 0.5).order.map(({ isRight }) => isRight),
    [true, true],
  );
  const third = box(0, 0.1, 0.1, 0.3, 0.2);
  assert.deepEqual(rankDetections([{ truth: [here], found: [found(0.9, third)] }], 0, 0.5).order[0]?.isRight, true);
  assert.deepEqual(rankDetections([{ truth: [here], found: [found(0.9, third)] }], 0, 0.51).order[0]?.isRight, false);
});

test('the mean leaves out labels without a true box', () => {
  const images: EvaluatedImage[] = [{ truth: [here, { ...there, label: 1 }], found: [found(0.9, here)] }];
  assert.deepEqual(averagePrecisions(images, 3, 0.5), [1, 0, undefined]);
  assert.equal(meanAveragePrecision(images, 3, 0.5), 0.5);
  assert.equal(meanAveragePrecision([], 3, 0.5), 0);
  assert.deepEqual([cocoThresholds.length, cocoThresholds.at(0), cocoThresholds.at(-1)], [10, 0.5, 0.95]);
});
