import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploadPlan } from './upload-plan.ts';

const file = (path: string, size = 1) => ({
  name: path.split('/').at(-1) ?? '',
  path: path.includes('/') ? path : '',
  size,
});

test('the folder is the label, a typed label wins, a folder above may keep images for the test', () => {
  const table: [path: string, typed: string, tags: string[]][] = [
    ['cup.jpg', '', []],
    ['cup.jpg', ' cup ', ['cup']],
    ['images/cup.JPEG', '', []],
    ['images/cup/1.png', '', ['cup']],
    ['images/cup/1.png', 'mug', ['mug']],
    ['images/test/cup/1.webp', '', ['cup', 'split:test']],
    ['images/Val/cup/1.webp', '', ['cup', 'split:validation']],
    ['images/train/cup/1.webp', '', ['cup']],
    ['images/valid/cup/1.webp', '', ['cup', 'split:validation']],
  ];
  for (const [path, typed, tags] of table)
    assert.deepEqual(uploadPlan([file(path)], typed).uploads[0]?.tags, tags, path);
});

test('labels are counted; what cannot be used is named with the reason, hidden files are left out silently', () => {
  const plan = uploadPlan(
    [
      file('p/b/1.jpg'),
      file('p/a/1.jpg'),
      file('p/b/2.jpg'),
      file('p/b/notes.txt'),
      file('p/b/3.jpg', 0),
      file('p/b/4.jpg', 1e9),
      file('p/.DS_Store'),
    ],
    '',
  );
  assert.deepEqual(plan.labels, [
    ['a', 1],
    ['b', 2],
  ]);
  assert.equal(plan.uploads.length, 3);
  assert.equal(plan.annotations, 1, 'notes.txt may be what another tool keeps boxes in');
  assert.deepEqual(
    plan.refused.map(({ name }) => name),
    ['notes.txt', '3.jpg', '4.jpg'],
  );
});
