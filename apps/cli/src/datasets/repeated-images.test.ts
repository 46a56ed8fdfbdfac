import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Split } from '@platform/contract/job/job';
import { type HashedImage, neededUploads, oneEach, type PresentImage } from './repeated-images.ts';

const box = (label: string, xMin = 0.1) => ({ label, xMin, yMin: 0.1, xMax: xMin + 0.3, yMax: 0.5 });
const file = (path: string, sha256: string, labels: string[] = [], split?: Split, boxes = [box('lid')].slice(1)) =>
  ({ path, fileName: path, sizeBytes: 1, extension: 'jpg', labels, split, boxes, sha256 }) satisfies HashedImage;

test('equal files are one image with the labels and boxes of all, and held out where one of them is', () => {
  const { images, copies, divided } = oneEach([
    file('cup/1.jpg', 'a', ['cup'], 'test', [box('lid')]),
    file('2.jpg', 'b'),
    file('mug/1.jpg', 'a', ['mug', 'cup'], 'train', [box('lid', 0.105), box('lid', 0.5)]),
    file('3.jpg', 'b', [], 'validation'),
  ]);
  assert.deepEqual(
    images.map(({ path, labels, split, boxes }) => [path, labels, split, boxes.length]),
    [
      ['cup/1.jpg', ['cup', 'mug'], 'test', 2],
      ['2.jpg', [], 'validation', 0],
    ],
  );
  assert.deepEqual([copies, divided], [2, ['cup/1.jpg']]);
});

const there = (more: Partial<PresentImage>): PresentImage => ({
  sha256: 'a',
  labels: [],
  split: '',
  boxes: [],
  ...more,
});
const rows: [name: string, image: HashedImage, present: PresentImage[], expected: string][] = [
  ['other bytes', file('1', 'a'), [there({ sha256: 'b' })], 'added'],
  ['the same bytes', file('1', 'a'), [there({ labels: ['cup'] })], 'nothing'],
  ['its label is there', file('1', 'a', ['cup']), [there({ labels: ['mug', 'cup'] })], 'nothing'],
  ['a label more', file('1', 'a', ['cup', 'pen']), [there({ labels: ['cup'] })], 'changed'],
  ['a split', file('1', 'a', [], 'test'), [there({})], 'changed'],
  ['another split', file('1', 'a', [], 'test'), [there({ split: 'train' })], 'changed'],
  ['the same split', file('1', 'a', [], 'test'), [there({ split: 'test' })], 'nothing'],
  ['a box', file('1', 'a', [], undefined, [box('lid')]), [there({})], 'changed'],
  ['the same box', file('1', 'a', [], undefined, [box('lid', 0.102)]), [there({ boxes: [box('lid')] })], 'nothing'],
  ['a box of another label', file('1', 'a', [], undefined, [box('x')]), [there({ boxes: [box('lid')] })], 'changed'],
  ['one of two copies lacks it', file('1', 'a', ['cup']), [there({ labels: ['cup'] }), there({})], 'changed'],
];
for (const [name, image, present, expected] of rows)
  test(`what a dataset lacks: ${name}: ${expected}`, () => {
    const { added, changed } = neededUploads([image], present);
    assert.equal(added.length > 0 ? 'added' : changed.length > 0 ? 'changed' : 'nothing', expected);
  });
