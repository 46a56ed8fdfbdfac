// Pascal VOC as its tools write it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { object, read, voc } from './text-folders.ts';

test('Pascal VOC: Annotations, JPEGImages and ImageSets; parts of objects are ignored', async () => {
  const part =
    '<part><name>handle</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>';
  const { title, images, missing, groups } = await read({
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
  assert.equal(title, 'Pascal VOC (Annotations/a.xml, Annotations/b.xml, Annotations/c.xml)');
  assert.deepEqual(images, [
    ['JPEGImages/a.jpg', 'train', 'R&D cup 0.1 0.1 0.5 0.6', 'mug 0.75 0.5 1 0.9'],
    ['JPEGImages/b.jpg', 'validation', 'cup 0 0 1 1'],
  ]);
  assert.deepEqual(missing, ['c.jpg']);
  assert.deepEqual(groups, [
    'left out 1 annotated, but not in the folder: c.jpg',
    'changed 1 cut at the edge of the image: Annotations/a.xml: object 2',
    'not data 2 a list of images for another use: ImageSets/Main/cup_train.txt, ImageSets/Main/trainval.txt',
  ]);
});

test('Pascal VOC with the XML beside each image; a size that is not given comes from the image', async () => {
  const { images } = await read({
    'train/a.jpg': '',
    'train/a.xml': voc('other.jpg', object('cup'), '<size><width>0</width></size>'),
    'valid/a.jpg': '',
    'valid/a.xml': voc('a.jpg', object('mug')),
  });
  assert.deepEqual(images, [
    ['train/a.jpg', 'train', 'cup 0.1 0.1 0.5 0.6'],
    ['valid/a.jpg', 'validation', 'mug 0.1 0.1 0.5 0.6'],
  ]);
});
