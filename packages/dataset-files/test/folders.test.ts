import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '../src/plan.ts';
import { tagsOf } from '../src/planned-images.ts';
import { memorySource, pngStart } from './case-files.ts';

const plan = async (paths: readonly string[], labels?: readonly string[]) =>
  planImport(memorySource(Object.fromEntries(paths.map((path) => [path, pngStart(4, 4)]))), labels && { labels });
const tags = async (paths: readonly string[], labels?: readonly string[]) =>
  Object.fromEntries((await plan(paths, labels)).images.map((one) => [one.path, tagsOf(one)]));

const table: [name: string, images: Record<string, string[]>][] = [
  [
    'folders name labels; a folder above is a split',
    {
      '5.jpg': [],
      'cup/1.jpg': ['cup'],
      'mugs/blue cup/4.webp': ['blue cup'],
      'pen/val/3.png': ['pen', 'split:validation'],
      'test/cup/2.JPEG': ['cup', 'split:test'],
      'valid/pen/7.jpg': ['pen', 'split:validation'],
    },
  ],
  ['folders of splits alone', { 'test/b.jpg': ['split:test'], 'train/a.jpg': ['split:train'] }],
  ['a class may be called train', { 'bus/1.jpg': ['bus'], 'train/1.jpg': ['train'], 'test/1.jpg': ['test'] }],
  [
    'also below a split',
    { 'train/test/1.jpg': ['test', 'split:train'], 'train/train/1.jpg': ['train', 'split:train'] },
  ],
  [
    'a split with label folders in it keeps its own images',
    { 'cup/1.jpg': ['cup'], 'train/2.jpg': ['split:train'], 'train/cup/3.jpg': ['cup', 'split:train'] },
  ],
  [
    'one folder around splits does not name a label',
    { 'set/test/b.jpg': ['split:test'], 'set/train/a.jpg': ['split:train'] },
  ],
  [
    'label folders with a folder per split',
    { 'cup/train/1.jpg': ['cup', 'split:train'], 'mug/train/1.jpg': ['mug', 'split:train'] },
  ],
  ['no-split is above a label that is called like a split', { 'no-split/train/1.jpg': ['train'] }],
];
for (const [name, images] of table)
  test(name, async () => {
    assert.deepEqual(await tags(Object.keys(images)), images);
  });

test('typed labels stand in place of the folders', async () => {
  assert.deepEqual(await tags(['cup/1.jpg', 'test/pen/2.jpg'], ['thing', 'thing']), {
    'cup/1.jpg': ['thing'],
    'test/pen/2.jpg': ['thing', 'split:test'],
  });
});

test('what cannot be sent is named with its reason', async () => {
  const source = memorySource({
    'a.gif': 'GIF89a',
    'b.jpg': new Uint8Array(0),
    'notes.txt': 'hello',
    'x.zip': 'PK\x03\x04',
    'y.png': pngStart(12_000, 12_000),
  });
  const large = { path: 'c.png', sizeBytes: 61_000_000 };
  const { ledger } = await planImport({
    ...source,
    files: [...source.files, large, { path: 'd.jpg', sizeBytes: 1, isLink: true }],
    readStart: async (path, bytes) => (path === 'c.png' ? pngStart(4, 4) : source.readStart(path, bytes)),
  });
  assert.deepEqual(
    ledger.files.map(({ path, use, reason }) => `${path} ${use}: ${reason ?? ''}`),
    [
      'a.gif left out: is a GIF image: convert it to PNG',
      'b.jpg left out: is empty',
      'c.png left out: is larger than 60 MB',
      'd.jpg left out: is a link',
      'notes.txt not data: names no image',
      'x.zip left out: is an archive: unpack it first',
      'y.png left out: has 144 megapixels, the limit is 100: scale it down',
    ],
  );
});
