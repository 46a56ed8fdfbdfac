// Which format a folder has, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coco, read, voc } from './text-folders.ts';

test('a folder without any of these files has folders as labels', async () => {
  const plain = await read({ 'cup/a.jpg': '', 'notes.txt': 'hello', 'metadata/a.json': '{}' });
  assert.deepEqual(
    [plain.title, plain.images, plain.groups],
    ['folders', [['cup/a.jpg', '', 'cup']], ['not data 2 names no image: metadata/a.json, notes.txt']],
  );
});

const labelMe = JSON.stringify({ shapes: [], imagePath: 'a.jpg' });

const half: [name: string, files: Record<string, string>, problem: RegExp][] = [
  [
    'class names without boxes',
    { 'data.yaml': 'names: [a]\n', 'cup/a.jpg': '' },
    /looks like YOLO: data\.yaml names classes, but no text file/,
  ],
  ['a format that is not read', { 'cup/a.jpg': '', 'cup/a.json': labelMe }, /cup\/a\.json names images of the folder/],
  ['broken JSON', { 'cup/a.jpg': '', 'labels.json': '{"a.jpg": ' }, /labels\.json names images of the folder/],
  [
    'two formats',
    { 'a.jpg': '', 'a.json': coco(['a.jpg']), 'a.xml': voc('a.jpg') },
    /looks like COCO \(a\.json\) and Pascal VOC \(a\.xml\)/,
  ],
];

for (const [name, files, problem] of half)
  test(`a format that is half recognized is refused, never taken as folders: ${name}`, async () => {
    const refused = await read(files);
    assert.match(refused.problem ?? '', problem);
    assert.deepEqual(refused.images, []);
    const folders = await read(files, 'folders');
    assert.deepEqual([folders.problem, folders.images.length], [undefined, 1]);
  });

test('a format that the folder has not is refused with its sign', async () => {
  assert.match((await read({ 'cup/a.jpg': '' }, 'voc')).problem ?? '', /For Pascal VOC the folder needs XML/);
});
