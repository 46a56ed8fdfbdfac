import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planLines, tagsOf as tagsOfPlanned, uploadPlan } from './upload-plan.ts';

const files = (...paths: string[]) => paths.map((path) => ({ path, sizeBytes: 100 }));
const tagsOf = (plan: ReturnType<typeof uploadPlan>) =>
  Object.fromEntries(plan.images.map((one) => [one.path, tagsOfPlanned(one)]));

test('folders name the labels; train, validation and test say what an image is for', () => {
  const plan = uploadPlan(
    files(
      'cup/1.jpg',
      'test/cup/2.JPEG',
      'pen/val/3.png',
      'mugs/blue cup/4.webp',
      '5.jpg',
      'train/6.jpg',
      'valid/pen/7.jpg',
    ),
  );
  assert.deepEqual(tagsOf(plan), {
    'cup/1.jpg': ['cup'],
    'test/cup/2.JPEG': ['cup', 'split:test'],
    'pen/val/3.png': ['pen', 'split:validation'],
    'mugs/blue cup/4.webp': ['blue cup'],
    '5.jpg': [],
    'train/6.jpg': ['split:train'],
    'valid/pen/7.jpg': ['pen', 'split:validation'],
  });
  assert.deepEqual(
    plan.images.map((one) => one.extension),
    ['jpg', 'jpg', 'png', 'webp', 'jpg', 'jpg', 'jpg'],
  );
});

test('--label stands in place of the folders', () => {
  const plan = uploadPlan(files('cup/1.jpg', 'test/2.jpg'), { labels: ['thing', 'thing'] });
  assert.deepEqual(tagsOf(plan), { 'cup/1.jpg': ['thing'], 'test/2.jpg': ['thing', 'split:test'] });
});

test('annotations are found by path, by its end or by file name; then folders do not name labels', () => {
  const box = { label: 'lid', xMin: 0, yMin: 0, xMax: 1, yMax: 1 };
  const annotations = new Map([
    ['data/a.jpg', { labels: ['cup'], boxes: [box] }],
    ['b.jpg', { labels: [], boxes: [] }],
    ['gone.jpg', { labels: ['x'], boxes: [] }],
  ]);
  const plan = uploadPlan(files('set/data/a.jpg', 'set/b.jpg', 'set/c.jpg'), { annotations });
  assert.deepEqual(tagsOf(plan), { 'set/data/a.jpg': ['cup'], 'set/b.jpg': [], 'set/c.jpg': [] });
  assert.deepEqual(plan.images[0]?.boxes, [box]);
  assert.deepEqual(plan.missing, ['gone.jpg']);
  assert.deepEqual(planLines(plan), [
    '3 images: cup 1, lid 1 box.',
    '2 of them without a label.',
    'Annotated, but not in the folder: gone.jpg.',
  ]);
});

test('a folder further down than the paths of the annotations is understood, where only one can be meant', () => {
  const some = (label: string) => ({ labels: [label], boxes: [] });
  const annotations = new Map([
    ['data/1.jpg', some('a')],
    ['x/2.jpg', some('b')],
    ['y/2.jpg', some('c')],
  ]);
  assert.deepEqual(tagsOf(uploadPlan(files('1.jpg', '2.jpg'), { annotations })), { '1.jpg': ['a'], '2.jpg': [] });
});

test('what cannot be sent is named with its reason; files of annotations are passed over', () => {
  const plan = uploadPlan([
    { path: 'a.gif', sizeBytes: 1 },
    { path: 'b.jpg', sizeBytes: 0 },
    { path: 'c.jpg', sizeBytes: 61_000_000 },
    { path: 'd.jpg', sizeBytes: 1, isLink: true },
    { path: 'notes.txt', sizeBytes: 1 },
    { path: 'x\u001b[2J/e.jpg', sizeBytes: 1 },
  ]);
  assert.deepEqual(
    plan.refused.map((one) => one.reason),
    ['is not a JPEG, PNG or WebP file', 'is empty', 'is larger than 60 MB', 'is a link'],
  );
  assert.equal(plan.images.length, 1);
  assert.ok(planLines(plan).every((line) => !line.includes('\u001b')));
});
