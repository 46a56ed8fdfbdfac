// The account of an import: every problem, every file and every annotation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ledgerCsv } from '../src/ledger.ts';
import { coco, read } from './text-folders.ts';

test('the ledger as CSV has every file and every annotation that is not used as it is, and no formula', async () => {
  const { ledger } = await read({
    'data.yaml': 'names: [cup]',
    '=a.jpg': '',
    '=a.txt': '0 0.5 0.5 1 1\n7 "0.5" 0.5 1 1\n0 0.95 0.5 0.2 0.2\n',
    'labels/gone.txt': '0 0.5 0.5 1 1\n',
  });
  const outline = 'each line must be a class number and x, y, width, height of a box, or the corners of an outline';
  const rows = [
    ['file', 'place', 'outcome', 'reason', 'annotations'],
    ["'=a.jpg", '', 'image', 'is PNG, whatever its name says', ''],
    ["'=a.txt", '', 'annotations', '', '2 of 3 annotations used, 1 of them changed'],
    ['data.yaml', '', 'class names', '', ''],
    ['labels/gone.txt', '', 'annotations', '', '0 of 1 annotations used, 0 of them changed'],
    ['images/gone.jpg', '', 'left out', 'annotated, but not in the folder', ''],
    ["'=a.txt", 'line 2', 'invalid', outline, ''],
    ["'=a.txt", 'line 3', 'changed', 'cut at the edge of the image', ''],
    ['labels/gone.txt', 'images/gone.jpg', 'left out', 'the image is not in the folder', ''],
  ];
  const [head, ...more] = rows.map((row) => `${row.map((one) => `"${one}"`).join()}\n`);
  assert.equal(ledgerCsv(ledger), [head?.replaceAll('"', '') ?? '', ...more].join(''));
});

test('thousands of reasons are a few lines', async () => {
  const boxes = Array.from({ length: 1000 }, (_, id): [number, number[]] => [id + 1, [0, 0, 5, 5]]);
  const { groups, ledger } = await read({ 'set.json': coco(['a.jpg'], boxes), 'a.jpg': '' });
  assert.deepEqual([groups.length, ledger.annotations.length], [21, 1000]);
  assert.match(groups.at(-1) ?? '', /^invalid 980 980 other reasons: set\.json: annotation 20, /);
});

test('10,000 labels, and 10,000 boxes on one image', async () => {
  const n = 10_000;
  const document = {
    images: [{ id: 0, file_name: 'a.jpg' }],
    categories: Array.from({ length: n }, (_, id) => ({ id, name: `label ${id}` })),
    annotations: Array.from({ length: n }, (_, id) => ({
      id,
      image_id: 0,
      category_id: id,
      bbox: [id % 100, id % 90, 5, 5],
    })),
  };
  const { images, groups } = await read({ 'set.json': JSON.stringify(document), 'a.jpg': '' });
  assert.equal(images[0]?.length, n + 2);
  assert.deepEqual(groups, []);
});

test('every problem is listed in one run, and the rest is read', async () => {
  const { groups, images } = await read({
    'data.yaml': 'names: [cup]',
    'a.jpg': '',
    'a.txt': '0 0.5 0.5 1 1\n7 0.5 0.5 1 1\n0 nan 0.5 1 1\n0 320 240 100 80\n',
    'b.jpg': '',
    'b.txt': '9 0.5 0.5 1 1\n',
  });
  assert.deepEqual(images, [
    ['a.jpg', '', 'cup 0 0 1 1'],
    ['b.jpg', ''],
  ]);
  assert.deepEqual(
    groups.map((group) => group.replace(/ (is|has|must) .*: (?=[ab]\.txt)/, ': ')),
    [
      'invalid 1 class 7: a.txt: line 2',
      'invalid 1 each line: a.txt: line 3',
      'invalid 1 coordinates: a.txt: line 4',
      'invalid 1 class 9: b.txt: line 1',
    ],
  );
});
