// Folders as other tools write them, and malicious ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors';
import type { Folder } from '../annotated.ts';
import { type ImportFormat, readFolder } from './folder.ts';

const size = { width: 200, height: 100 };
/** Image files contain no text. */
const folder = (files: Readonly<Record<string, string>>): Folder => ({
  paths: Object.keys(files),
  read: async (path) => {
    const text = files[path];
    assert.ok(text !== undefined, `reads ${path}, which is not in the folder`);
    return Promise.resolve(text);
  },
  sizeOf: () => Promise.resolve(size),
});
const read = async (files: Readonly<Record<string, string>>, format?: ImportFormat) => {
  const found = await readFolder(folder(files), format);
  const images = [...(found?.annotations ?? [])].map(([path, { boxes, split }]) => [
    path,
    split ?? '',
    ...boxes.map(({ label, xMin, yMin, xMax, yMax }) =>
      [label, ...[xMin, yMin, xMax, yMax].map((edge) => Number(edge.toFixed(3)))].join(' '),
    ),
  ]);
  return { format: found?.format, images, missing: found?.missing, notes: found?.notes };
};

test('YOLO as Roboflow exports it: paths that lead out of the folder mean those in it', async () => {
  const { format, images, missing, notes } = await read({
    'README.roboflow.txt': '',
    'data.yaml': 'train: ../train/images\nval: ../valid/images\ntest: ../test/images\nnc: 2\nnames: [cup, "yes"]\n',
    'train/images/a.jpg': '',
    'train/labels/a.txt': '0 0.5 0.5 0.2 0.4\n1 0.1 0.1 0.2 0.2\n',
    'valid/images/b.jpg': '',
    'valid/labels/b.txt': '',
    'test/images/c.jpg': '',
    'test/labels/gone.txt': '0 0.5 0.5 0.2 0.4\n',
  });
  assert.equal(format, 'YOLO (data.yaml)');
  assert.deepEqual(images, [
    ['train/images/a.jpg', 'train', 'cup 0.4 0.3 0.6 0.7', 'yes 0 0 0.2 0.2'],
    ['valid/images/b.jpg', 'validation'],
    ['test/images/c.jpg', 'test'],
  ]);
  assert.deepEqual(missing, ['test/labels/gone.txt']);
  assert.deepEqual(notes, { clipped: 0, outside: 0, outlines: 0, repeated: 0 });
});

test('YOLO as Ultralytics writes it: a map of names, folders and lists of images, outlines', async () => {
  const { images, notes } = await read({
    'set.yaml': 'path: /home/me/set\ntrain: images/train\nval: [lists/val.txt]\nnames:\n  0: cup\n  2: 7\n',
    'images/train/a.jpg': '',
    'labels/train/a.txt': '2 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\n0 0.95 0.5 0.2 0.2 0.87\n0 1.5 0.5 0.2 0.2\n',
    'images/more/b.png': '',
    'labels/more/b.txt': '0 0.5 0.5 1.0000004 1\n',
    'lists/val.txt': '/home/me/set/images/more/b.png\n\n/home/me/set/images/more/gone.png\n',
  });
  assert.deepEqual(images, [
    ['images/train/a.jpg', 'train', '7 0.1 0.2 0.5 0.6', 'cup 0.85 0.4 1 0.6'],
    ['images/more/b.png', 'validation', 'cup 0 0 1 1'],
  ]);
  assert.deepEqual(notes, { clipped: 1, outside: 1, outlines: 1, repeated: 0 });
});

test('YOLO with classes.txt and the texts beside the images', async () => {
  const { images } = await read({
    'classes.txt': 'cup\nmug\n',
    'a.jpg': '',
    'a.txt': '1 0.5 0.5 1 1\n',
    'labels/b.txt': '',
    'images/b.jpg': '',
  });
  assert.deepEqual(images, [
    ['a.jpg', '', 'mug 0 0 1 1'],
    ['images/b.jpg', ''],
  ]);
});

const object = (name: string, box = [20, 10, 100, 60], more = '') =>
  `<object><name>${name}</name>${more}<bndbox><xmin>${box[0]}</xmin><ymin>${box[1]}</ymin><xmax>${box[2]}</xmax><ymax>${box[3]}</ymax></bndbox></object>`;
const voc = (file: string, objects = '', sizes = '<size><width>200</width><height>100</height></size>') =>
  `<?xml version="1.0"?><annotation><filename>${file}</filename>${sizes}${objects}</annotation>`;

test('Pascal VOC: Annotations, JPEGImages and ImageSets; parts of objects are ignored', async () => {
  const part =
    '<part><name>handle</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>';
  const { format, images, missing, notes } = await read({
    'Annotations/a.xml': voc(
      'a.jpg',
      object('R&amp;D cup') + object('mug', [150, 50, 260, 90], '<difficult>1</difficult>'),
    ),
    'Annotations/b.xml': voc(
      'b.jpg',
      `<object>${part}<name>cup</name><bndbox><xmin>0</xmin><ymin>0</ymin><xmax>200</xmax><ymax>100</ymax></bndbox></object>`,
    ),
    'Annotations/c.xml': voc('c.jpg'),
    'JPEGImages/a.jpg': '',
    'JPEGImages/b.jpg': '',
    'ImageSets/Main/train.txt': 'a\n',
    'ImageSets/Main/trainval.txt': 'a\nb\n',
    'ImageSets/Main/val.txt': 'b\n',
    'ImageSets/Main/cup_train.txt': 'a 1\n',
  });
  assert.equal(format, 'Pascal VOC (3 XML files)');
  assert.deepEqual(images, [
    ['JPEGImages/a.jpg', 'train', 'R&D cup 0.1 0.1 0.5 0.6', 'mug 0.75 0.5 1 0.9'],
    ['JPEGImages/b.jpg', 'validation', 'cup 0 0 1 1'],
  ]);
  assert.deepEqual([missing, notes?.clipped], [['c.jpg'], 1]);
});

test('Pascal VOC with the XML beside each image; a size that is not given comes from the image', async () => {
  const { images } = await read({
    'train/a.jpg': '',
    'train/a.xml': voc('other.jpg', object('cup'), '<size><width>0</width></size>'),
    'valid/a.jpg': '',
    'valid/a.xml': voc('a.jpg', object('mug')),
  });
  assert.deepEqual(images, [
    ['train/a.jpg', '', 'cup 0.1 0.1 0.5 0.6'],
    ['valid/a.jpg', '', 'mug 0.1 0.1 0.5 0.6'],
  ]);
});

const coco = (names: readonly string[], boxes: readonly [image: number, box: number[]][] = [[0, [20, 10, 80, 50]]]) =>
  JSON.stringify({
    images: names.map((file_name, id) => ({ id, file_name, ...size })),
    categories: [{ id: 3, name: 'cup' }],
    annotations: boxes.map(([image_id, bbox], id) => ({ id, image_id, category_id: 3, bbox })),
  });

test('COCO as Roboflow exports it: one file per split, equal names in each', async () => {
  const { format, images } = await read({
    'train/_annotations.coco.json': coco(['a.jpg']),
    'train/a.jpg': '',
    'valid/_annotations.coco.json': coco(['a.jpg'], []),
    'valid/a.jpg': '',
    'test/_annotations.coco.json': coco(['b.jpg', 'gone.jpg']),
    'test/b.jpg': '',
  });
  assert.equal(
    format,
    'COCO (train/_annotations.coco.json, valid/_annotations.coco.json, test/_annotations.coco.json)',
  );
  assert.deepEqual(images, [
    ['train/a.jpg', 'train', 'cup 0.1 0.1 0.5 0.6'],
    ['valid/a.jpg', 'validation'],
    ['test/b.jpg', 'test', 'cup 0.1 0.1 0.5 0.6'],
  ]);
});

test('COCO as the data sets have it: instances beside captions, images in folders called after the files', async () => {
  const { images } = await read({
    'annotations/captions_train2017.json': '{"annotations": [{"caption": "x"}], "images": []}',
    'annotations/instances_train2017.json': coco(['1.jpg']),
    'annotations/instances_val2017.json': coco(['1.jpg']),
    'train2017/1.jpg': '',
    'val2017/1.jpg': '',
  });
  assert.deepEqual(
    images.map((one) => one.slice(0, 2)),
    [
      ['train2017/1.jpg', 'train'],
      ['val2017/1.jpg', 'validation'],
    ],
  );
});

test('COCO: names of images that appear twice, boxes over the edge and outside', async () => {
  const { images, notes, missing } = await read({
    'set.json': coco(
      ['../../etc/a.jpg', 'a.jpg'],
      [
        [0, [150, 50, 100, 20]],
        [1, [300, 0, 10, 10]],
        [1, [-1e300, -1e300, 2e300, 2e300]],
        [1, [0, 0, 20, 10]],
      ],
    ),
    'etc/a.jpg': '',
    'images/a.jpg': '',
  });
  assert.deepEqual(images, [['etc/a.jpg', '', 'cup 0.75 0.5 1 0.7']]);
  assert.deepEqual([missing, notes?.clipped, notes?.outside], [['a.jpg'], 1, 2], 'two images may be meant by a.jpg');
  const twice = await read({ 'set.json': coco(['a.jpg', './a.jpg']), 'a.jpg': '' });
  assert.deepEqual([twice.images.length, twice.notes?.repeated], [1, 1]);
});

test('a folder without any of these files has folders as labels', async () => {
  assert.equal((await read({ 'cup/a.jpg': '', 'notes.txt': '', 'metadata/a.json': '{}' })).format, undefined);
  const both = { 'data.yaml': 'names: [a]\n', 'cup/a.jpg': '' };
  assert.equal((await read(both)).format, 'YOLO (data.yaml)');
  assert.equal((await read(both, 'folders')).format, undefined);
});

const bomb = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one, at) => `<!ENTITY ${one} "${`&${'abcdefg'[at]};`.repeat(10)}">`).join('')}]>`;
const yolo = (line: string, names = 'names: [cup]') => ({ 'data.yaml': names, 'a.jpg': '', 'a.txt': line });
const deep = `${'<annotation>'.repeat(40)}${'</annotation>'.repeat(40)}`;
const hostile: [name: string, files: Record<string, string>, pattern: RegExp, format?: ImportFormat][] = [
  ['YOLO: a class without a name', yolo('0 0.5 0.5 1 1\n1 0.5 0.5 1 1'), /a\.txt:2 .*class 1 has no name.* 1 classes/],
  ['YOLO: a negative class', yolo('-1 0.5 0.5 1 1'), /a\.txt:1 .*class -1/],
  ['YOLO: half a class', yolo('0.5 0.5 0.5 1 1'), /class number/],
  ['YOLO: NaN', yolo('0 nan 0.5 1 1'), /a\.txt:1/],
  ['YOLO: infinite', yolo('0 Infinity 0.5 1 1'), /a\.txt:1/],
  ['YOLO: pixels', yolo('0 320 240 100 80'), /look like pixels/],
  ['YOLO: three numbers', yolo('0 0.5 0.5 1'), /class number/],
  ['YOLO: an outline with half a corner', yolo('0 0.1 0.1 0.2 0.2 0.3 0.3 0.4'), /pairs/],
  ['YOLO: words', yolo('cup 0.5 0.5 1 1'), /class number/],
  ['YOLO: names of no class', yolo('', 'names: {}'), /names has no class/],
  ['YOLO: a name that is a list', yolo('', 'names: [[a]]'), /list of texts/],
  ['YOLO: broken YAML', yolo('', 'names: [a\nb: }'), /data\.yaml .*not YAML/],
  ['YOLO: a program in YAML', yolo('', 'names: !!js/function "function () { return 1 }"'), /not YAML/],
  ['VOC: entities that grow', { 'a.xml': `${bomb}<annotation>&h;</annotation>`, 'a.jpg': '' }, /DOCTYPE/],
  [
    'VOC: a file of this host',
    { 'a.xml': `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>${voc('&f;')}`, 'a.jpg': '' },
    /DOCTYPE/,
  ],
  ['VOC: an unknown entity', { 'a.xml': voc('&f;'), 'a.jpg': '' }, /not XML/],
  ['VOC: broken XML', { 'a.xml': '<annotation><object>', 'a.jpg': '' }, /a\.xml .*not XML/],
  ['VOC: very deep XML', { 'a.xml': deep, 'a.jpg': '' }, /32 deep/],
  ['VOC: a box of words', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'left')), 'a.jpg': '' }, /object 1/],
  ['VOC: NaN', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'NaN')), 'a.jpg': '' }, /object 1/],
  ['VOC: no name', { 'a.xml': voc('a.jpg', object('')), 'a.jpg': '' }, /object 1/],
  ['COCO: NaN, as Python writes it', { 'a.coco.json': coco(['a.jpg']).replace('20', 'NaN') }, /neither COCO/, 'coco'],
  ['COCO: a category that is not there', { 'a.json': coco(['a.jpg']).replace('"id":3', '"id":4') }, /annotation 0/],
  ['COCO: an image of no size', { 'a.json': coco(['a.jpg']).replace('200', '0') }, /no width and height/],
  ['a format that the folder has not', { 'cup/a.jpg': '' }, /voc: the folder needs XML/, 'voc'],
];
for (const [name, files, pattern, format] of hostile)
  test(`refused by its place: ${name}`, async () => {
    await assert.rejects(read(files, format), (error: unknown) => {
      assert.ok(error instanceof PlatformError, String(error));
      assert.match(error.what, pattern);
      return true;
    });
  });
