// COCO as its tools write it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '../src/plan.ts';
import { coco, read, source } from './text-folders.ts';

test('COCO as Roboflow exports it: one file per split, equal names in each', async () => {
  const { title, images } = await read({
    'train/_annotations.coco.json': coco(['a.jpg']),
    'train/a.jpg': '',
    'valid/_annotations.coco.json': coco(['a.jpg'], []),
    'valid/a.jpg': '',
    'test/_annotations.coco.json': coco(['b.jpg', 'gone.jpg']),
    'test/b.jpg': '',
  });
  assert.equal(title, 'COCO (test/_annotations.coco.json, train/_annotations.coco.json, valid/_annotations.coco.json)');
  assert.deepEqual(images, [
    ['test/b.jpg', 'test', 'cup 0.1 0.1 0.5 0.6'],
    ['train/a.jpg', 'train', 'cup 0.1 0.1 0.5 0.6'],
    ['valid/a.jpg', 'validation'],
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
  const { images, groups, missing } = await read({
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
  assert.deepEqual(images, [
    ['etc/a.jpg', '', 'cup 0.75 0.5 1 0.7'],
    ['images/a.jpg', ''],
  ]);
  assert.deepEqual(missing, ['a.jpg'], 'two images may be meant by a.jpg');
  assert.deepEqual(groups, [
    'left out 1 annotated, but not in the folder: a.jpg',
    'changed 1 cut at the edge of the image: set.json: annotation 0',
  ]);
  const outside = await read({
    'set.json': coco(
      ['a.jpg'],
      [
        [0, [300, 0, 10, 10]],
        [0, [-1e300, -1e300, 2e300, 2e300]],
        [0, [0, 0, 20, 10]],
      ],
    ),
    'a.jpg': '',
  });
  assert.deepEqual(outside.images, [['a.jpg', '', 'cup 0 0 0.1 0.1']]);
  assert.deepEqual(outside.groups, ['left out 2 outside of the image: set.json: annotation 0, set.json: annotation 1']);
  const twice = await read({
    'set.json': coco(
      ['a.jpg', './a.jpg'],
      [
        [0, [0, 0, 20, 10]],
        [1, [0, 0, 20, 10]],
      ],
    ),
    'a.jpg': '',
  });
  assert.deepEqual(twice.images, [['a.jpg', '', 'cup 0 0 0.1 0.1']]);
  assert.deepEqual(twice.groups, ['changed 1 the same box twice: set.json: annotation 1']);
});

test('an image that lies in another folder than its annotations say is warned about', async () => {
  const files = { 'set.json': coco(['cam1/1.jpg']), 'cam2/1.jpg': '' };
  const { images, ledger } = await read(files);
  assert.deepEqual(images, [['cam2/1.jpg', '', 'cup 0.1 0.1 0.5 0.6']]);
  assert.match(ledger.warnings.join(), /in another folder than the annotations say \(cam1\/1\.jpg in cam2\/1\.jpg\)/);
  const both = await read({ ...files, 'set.json': coco(['cam1/1.jpg', 'cam2/1.jpg']) });
  assert.match(both.groups.join(), /invalid 1 two images are meant by cam2\/1\.jpg/);
  for (const name of ['1.jpg', '/home/me/cam1/1.jpg', 'C:\\cam1\\1.jpg', 'set/cam2/1.jpg'])
    assert.deepEqual((await read({ ...files, 'set.json': coco([name]) })).ledger.warnings, [], name);
});

test('COCO: ids that repeat are refused, with both names', async () => {
  const document = JSON.parse(coco(['a.jpg', 'b.jpg'])) as { images: { id: number }[]; categories: object[] };
  for (const image of document.images) image.id = 0;
  document.categories.push({ id: 3, name: 'mug' });
  const { groups } = await read({ 'set.json': JSON.stringify(document), 'a.jpg': '', 'b.jpg': '' });
  assert.deepEqual(groups, [
    'invalid 1 id 3 names two categories: cup and mug: set.json: categories',
    'invalid 1 two images have this id: a.jpg and b.jpg: set.json: image 0',
  ]);
});

test('one image in two splits is held out, with a warning', async () => {
  const { images, ledger } = await read({
    'annotations/instances_train.json': coco(['a.jpg']),
    'annotations/instances_test.json': coco(['a.jpg'], [[0, [100, 10, 80, 50]]]),
    'images/a.jpg': '',
  });
  assert.deepEqual(images, [['images/a.jpg', 'test', 'cup 0.5 0.1 0.9 0.6', 'cup 0.1 0.1 0.5 0.6']]);
  assert.match(ledger.warnings.join(), /in two splits are held out \(images\/a\.jpg: test and train\)/);
});

test('outlines become boxes, or are left out by choice', async () => {
  const files = { 'data.yaml': 'names: [cup]', 'a.jpg': '', 'a.txt': '0 0.1 0.2 0.5 0.2 0.5 0.6\n0 0.5 0.5 0.2 0.2\n' };
  assert.equal((await read(files)).images[0]?.length, 4);
  const plan = await planImport(source(files), { withoutOutlines: true });
  assert.equal(plan.images[0]?.boxes.length, 1);
  assert.equal(plan.ledger.annotations[0]?.reason, 'outline, left out as chosen');
});
