import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '@platform/dataset-files/plan';
import { tagsOf } from '@platform/dataset-files/planned-images';
import { fileSource, filesByPath } from './file-source.ts';

/** A PNG file of 1 × 1 px. */
const pixel = Uint8Array.from(
  atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='),
  (character) => character.charCodeAt(0),
);
/** Each image ends with its path: equal ones would share a split. */
const file = (path: string, content?: string) => ({
  name: path.split('/').at(-1) ?? '',
  path: path.includes('/') ? path : '',
  source: content === undefined ? new Blob([pixel, path]) : new Blob([content]),
});
const plan = async (...files: ReturnType<typeof file>[]) =>
  planImport(fileSource(new Map([...filesByPath(files)].map(([path, { source }]) => [path, source]))));

test('the chosen folder is not a label; those in it are, and splits above them', async () => {
  const { images } = await plan(file('set/cup/1.png'), file('set/train/cup/2.png'), file('set/3.png'));
  assert.deepEqual(
    images.map((image) => [image.path, ...tagsOf(image)]),
    [['3.png'], ['cup/1.png', 'cup'], ['train/cup/2.png', 'cup', 'split:train']],
  );
});

test('single files of one name get numbers', async () => {
  const { images } = await plan(file('1.png'), file('1.png'), file('set/1.png'));
  assert.deepEqual(
    images.map(({ path }) => path),
    ['1.png', '2 1.png', '3 1.png'],
  );
});

test('annotations, hidden files and other programs are read as on the command line', async () => {
  const boxes = 'filename,width,height,class,xmin,ymin,xmax,ymax\n1.png,1,1,cup,0,0,1,1\n';
  const { images, ledger } = await plan(
    file('set/1.png'),
    file('set/boxes.csv', boxes),
    file('set/.ipynb_checkpoints/x.png'),
    file('set/photo.jpg', 'text'),
  );
  assert.deepEqual(images[0]?.boxes, [{ label: 'cup', xMin: 0, yMin: 0, xMax: 1, yMax: 1 }]);
  assert.deepEqual(
    ledger.files.map(({ path, use }) => [path, use]),
    [
      ['.ipynb_checkpoints/x.png', 'not data'],
      ['1.png', 'image'],
      ['boxes.csv', 'annotations'],
      ['photo.jpg', 'left out'],
    ],
  );
});
