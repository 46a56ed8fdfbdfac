// YOLO as its tools write it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './text-folders.ts';

test('YOLO as Roboflow exports it: paths that lead out of the folder mean those in it', async () => {
  const { title, images, missing, groups } = await read({
    'README.roboflow.txt': 'Exported from Roboflow',
    'data.yaml': 'train: ../train/images\nval: ../valid/images\ntest: ../test/images\nnc: 2\nnames: [cup, "yes"]\n',
    'train/images/a.jpg': '',
    'train/labels/a.txt': '0 0.5 0.5 0.2 0.4\n1 0.1 0.1 0.2 0.2\n',
    'valid/images/b.jpg': '',
    'valid/labels/b.txt': '',
    'test/images/c.jpg': '',
    'test/labels/gone.txt': '0 0.5 0.5 0.2 0.4\n',
  });
  assert.equal(title, 'YOLO (data.yaml)');
  assert.deepEqual(images, [
    ['test/images/c.jpg', 'test'],
    ['train/images/a.jpg', 'train', 'cup 0.4 0.3 0.6 0.7', 'yes 0 0 0.2 0.2'],
    ['valid/images/b.jpg', 'validation'],
  ]);
  assert.deepEqual(missing, ['test/images/gone.jpg']);
  assert.deepEqual(groups, [
    'left out 1 annotated, but not in the folder: test/images/gone.jpg',
    'not data 1 names no image: README.roboflow.txt',
  ]);
});

test('YOLO as Ultralytics writes it: a map of names, folders and lists of images, outlines', async () => {
  const { images, groups } = await read({
    'set.yaml': 'path: /home/me/set\ntrain: images/train\nval: [lists/val.txt]\nnames:\n  0: cup\n  2: 7\n',
    'images/train/a.jpg': '',
    'labels/train/a.txt': '2 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\n0 0.95 0.5 0.2 0.2 0.87\n0 1.5 0.5 0.2 0.2\n',
    'images/more/b.png': '',
    'labels/more/b.txt': '0 0.5 0.5 1.0000004 1\n',
    'lists/val.txt': '/home/me/set/images/more/b.png\n\n/home/me/set/images/more/gone.png\n',
  });
  assert.deepEqual(images, [
    ['images/more/b.png', 'validation', 'cup 0 0 1 1'],
    ['images/train/a.jpg', 'train', '7 0.1 0.2 0.5 0.6', 'cup 0.85 0.4 1 0.6'],
  ]);
  assert.deepEqual(groups, [
    'left out 1 outside of the image: labels/train/a.txt: line 3',
    'changed 1 box around an outline: labels/train/a.txt: line 1',
    'changed 1 cut at the edge of the image: labels/train/a.txt: line 2',
  ]);
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

test('key points follow the box in a file of poses; other lines with many numbers are outlines', async () => {
  const line = '0 0.5 0.5 0.2 0.2 0.9 0.9 2\n';
  const pose = await read({ 'data.yaml': 'kpt_shape: [1, 3]\nnames: [cup]\n', 'a.jpg': '', 'a.txt': line });
  assert.deepEqual(pose.images, [['a.jpg', '', 'cup 0.4 0.4 0.6 0.6']]);
  assert.deepEqual(pose.groups, ['changed 1 key points dropped, box kept: a.txt: line 1']);
});

test('an empty line in a list of classes keeps the numbers of those after it', async () => {
  const { images } = await read({
    'classes.txt': 'cup\n\nmug\n',
    'labels/a.txt': '2 0.5 0.5 1 1\n',
    'images/a.jpg': '',
  });
  assert.deepEqual(images, [['images/a.jpg', '', 'mug 0 0 1 1']]);
});
