import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobKind } from '@platform/contract/job/job';
import { fileNotes, isLeftOut } from './usable-files.ts';

const problem = 'is a HEIC image: convert it to JPEG';
const cases: [what: string, kind: JobKind, file: Parameters<typeof isLeftOut>[1], isOut: boolean][] = [
  ['an image', 'object_detection', { imageProblem: null, mimeType: 'image/jpeg' }, false],
  ['not measured yet', 'object_detection', {}, false],
  ['no image, for a built-in trainer', 'object_detection', { imageProblem: problem, mimeType: 'image/jpeg' }, true],
  [
    'a point cloud, for a built-in trainer',
    'object_detection',
    { imageProblem: problem, mimeType: 'pointcloud/pcd' },
    true,
  ],
  ['a point cloud, for a script', 'custom', { imageProblem: problem, mimeType: 'pointcloud/pcd' }, false],
  ['a broken image, for a script', 'custom', { imageProblem: problem, mimeType: 'image/png' }, true],
];
for (const [what, kind, file, isOut] of cases)
  test(`${what}: ${isOut ? 'left out' : 'used'}`, () => assert.equal(isLeftOut(kind, file), isOut));

test('what is left out is counted, and three are named with what to do', () => {
  const notes = fileNotes('object_detection');
  for (let n = 1; n <= 5; n++) notes.add({ fileName: `${n}.jpg`, imageProblem: problem });
  notes.add({ fileName: 'good.jpg', imageProblem: null });
  assert.equal(notes.leftOut, 5);
  assert.deepEqual(notes.sentences(), [
    `5 files are left out, because they cannot be used as images: 1.jpg ${problem}; 2.jpg ${problem}; 3.jpg ${problem}; and 2 more.`,
  ]);
});

test('images of 16 bits that use fewer are counted', () => {
  const notes = fileNotes('single_label_classification');
  for (const imageUsedBits of [12, 12, 16, null, 10]) notes.add({ imageProblem: null, imageUsedBits });
  assert.deepEqual(notes.sentences(), [
    '3 images of 16 bits use 10 or 12 of them and are nearly black as stored: the training and machines stretch such images to the full range.',
  ]);
});

test('nothing to say of a dataset of plain images', () => {
  const notes = fileNotes('single_label_classification');
  notes.add({ imageProblem: null, imageUsedBits: null });
  assert.deepEqual(notes.sentences(), []);
});
