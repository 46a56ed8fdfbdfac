// Folders as other tools write them, and malicious ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImportFormat } from '../src/formats.ts';
import { ledgerCsv } from '../src/ledger.ts';
import { planImport } from '../src/plan.ts';
import { ledgerGroups } from '../src/summary.ts';
import { memorySource, pngStart } from './case-files.ts';

const size = { width: 200, height: 100 };
/** Images are given without content. */
const source = (files: Readonly<Record<string, string>>) =>
  memorySource(
    Object.fromEntries(
      Object.entries(files).map(([path, text]) => [
        path,
        text === '' && /\.(jpg|png)$/.test(path) ? pngStart(size.width, size.height) : text,
      ]),
    ),
  );
const read = async (files: Readonly<Record<string, string>>, format?: ImportFormat) => {
  const plan = await planImport(source(files), format && { format });
  const images = plan.images.map(({ path, split, labels, boxes }) => [
    path,
    split ?? '',
    ...labels,
    ...boxes.map(({ label, xMin, yMin, xMax, yMax }) =>
      [label, ...[xMin, yMin, xMax, yMax].map((edge) => Number(edge.toFixed(3)))].join(' '),
    ),
  ]);
  // The images of these folders have the content of PNG files, whatever their names are.
  const groups = ledgerGroups(plan.ledger)
    .filter(({ reason }) => !reason.startsWith('is PNG'))
    .map(({ outcome, count, reason, examples }) => `${outcome} ${count} ${reason}: ${examples.join(', ')}`);
  const { ledger, refusal, format: title } = plan;
  return { title, images, missing: ledger.missing, groups, problem: refusal?.problem, ledger };
};

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

const object = (name: string, box = [20, 10, 100, 60], more = '') =>
  `<object><name>${name}</name>${more}<bndbox><xmin>${box[0]}</xmin><ymin>${box[1]}</ymin><xmax>${box[2]}</xmax><ymax>${box[3]}</ymax></bndbox></object>`;
const voc = (file: string, objects = '', sizes = '<size><width>200</width><height>100</height></size>') =>
  `<?xml version="1.0"?><annotation><filename>${file}</filename>${sizes}${objects}</annotation>`;

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

const coco = (names: readonly string[], boxes: readonly [image: number, box: number[]][] = [[0, [20, 10, 80, 50]]]) =>
  JSON.stringify({
    images: names.map((file_name, id) => ({ id, file_name, ...size })),
    categories: [{ id: 3, name: 'cup' }],
    annotations: boxes.map(([image_id, bbox], id) => ({ id, image_id, category_id: 3, bbox })),
  });

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

test('two annotators of one image: the ground truth, otherwise the newest; the others are accounted for', async () => {
  const rectangle = (x: number) => ({
    type: 'rectanglelabels',
    original_width: 200,
    original_height: 100,
    value: { x, y: 10, width: 20, height: 20, rotation: 0, rectanglelabels: ['cup'] },
  });
  const task = (annotations: object[]) =>
    JSON.stringify([{ id: 7, data: { image: '/data/upload/3/01234567-a.jpg?x=1' }, annotations }]);
  const [old, recent] = [
    { updated_at: '2025-01-01', result: [rectangle(10)] },
    { updated_at: '2026-01-01', result: [rectangle(50)] },
  ];
  const first = await read({
    'tasks.json': task([recent, old, { was_cancelled: true, result: [rectangle(0)] }]),
    'a.jpg': '',
  });
  assert.deepEqual(first.images, [['a.jpg', '', 'cup 0.5 0.1 0.7 0.3']]);
  assert.deepEqual(first.groups, [
    'left out 1 another annotation of the same task is used: tasks.json: task 7, annotation 2',
    'left out 1 canceled or skipped annotation: tasks.json: task 7, annotation 3',
  ]);
  const truth = await read({ 'tasks.json': task([recent, { ...old, ground_truth: true }]), 'a.jpg': '' });
  assert.deepEqual(truth.images, [['a.jpg', '', 'cup 0.1 0.1 0.3 0.3']]);
});

test('Label Studio: choices, polygons, ellipses and rotated boxes; masks and key points are left out', async () => {
  const value = (type: string, one: object) => ({ type, original_width: 200, original_height: 100, value: one });
  const result = [
    value('choices', { choices: ['scene'] }),
    value('polygonlabels', {
      points: [
        [10, 10],
        [30, 10],
        [20, 50],
      ],
      polygonlabels: ['cup'],
    }),
    value('ellipselabels', { x: 50, y: 50, radiusX: 10, radiusY: 20, ellipselabels: ['cup'] }),
    value('rectanglelabels', { x: 50, y: 50, width: 10, height: 20, rotation: 180, rectanglelabels: ['mug'] }),
    value('brushlabels', { rle: [1], brushlabels: ['cup'] }),
    value('keypointlabels', { x: 1, y: 1, width: 1, keypointlabels: ['cup'] }),
  ];
  const tasks = [{ id: 1, data: { url: 's3://b/a.jpg' }, annotations: [{ result }] }];
  const { images, groups } = await read({ 'tasks.json': JSON.stringify(tasks), 'a.jpg': '' });
  assert.deepEqual(images, [
    ['a.jpg', '', 'scene', 'cup 0.1 0.1 0.3 0.5', 'cup 0.4 0.3 0.6 0.7', 'mug 0.4 0.3 0.5 0.5'],
  ]);
  assert.deepEqual(groups, [
    'left out 1 mask without a box: tasks.json: task 1, region 5',
    'left out 1 neither box nor outline: tasks.json: task 1, region 6',
    'changed 1 box around an outline: tasks.json: task 1, region 2',
    'changed 1 box around an ellipse: tasks.json: task 1, region 3',
    'changed 1 box around a rotated box: tasks.json: task 1, region 4',
  ]);
});

test('CVAT for images: tags, polygons, rotated boxes and subsets; a video is refused with what to export', async () => {
  const xml = (inner: string) => `<annotations>${inner}</annotations>`;
  const image = `<image id="0" name="sub/a.jpg" subset="Validation" width="200" height="100">
    <tag label="scene"/><box label="cup" xtl="20" ytl="10" xbr="100" ybr="60" rotation="90.0"><attribute name="x">1</attribute></box>
    <polygon label="mug" points="20,10;100,10;60,60"/><points label="cup" points="1,1"/></image>`;
  const { images, groups } = await read({ 'annotations.xml': xml(image), 'images/sub/a.jpg': '' });
  assert.deepEqual(images, [
    ['images/sub/a.jpg', 'validation', 'scene', 'cup 0.175 0 0.425 0.75', 'mug 0.1 0.1 0.5 0.6'],
  ]);
  assert.deepEqual(groups, [
    'left out 1 neither box nor outline: annotations.xml: image sub/a.jpg, points 4',
    'changed 1 box around a rotated box: annotations.xml: image sub/a.jpg, box 2',
    'changed 1 cut at the edge of the image: annotations.xml: image sub/a.jpg, box 2',
    'changed 1 box around an outline: annotations.xml: image sub/a.jpg, polygon 3',
  ]);
  const video = await read({ 'annotations.xml': xml('<track id="0" label="cup"/>'), 'a.jpg': '' });
  assert.match(video.groups.join(), /invalid 1 it is "CVAT for video": export the task as "CVAT for images 1\.1"/);
});

test('CSV of Vertex AI, of Keras RetinaNet, with labels and with semicolons', async () => {
  const table: [csv: string, image: (string | number)[]][] = [
    ['TRAIN,gs://b/x/a.jpg,cup,0.1,0.1,,,0.5,0.6,,\n', ['a.jpg', 'train', 'cup 0.1 0.1 0.5 0.6']],
    [
      'VALIDATION,gs://b/x/a.jpg,cup,0.1,0.1,0.5,0.1,0.5,0.6,0.1,0.6\r\n',
      ['a.jpg', 'validation', 'cup 0.1 0.1 0.5 0.6'],
    ],
    ['gs://b/a.jpg,cup,mug\n', ['a.jpg', '', 'cup', 'mug']],
    ['a.jpg,20,10,100,60,cup\n', ['a.jpg', '', 'cup 0.1 0.1 0.5 0.6']],
    [
      'filename;width;height;class;xmin;ymin;xmax;ymax\na.jpg;200;100;"R&D; cup";20;10;100;60\n',
      ['a.jpg', '', 'R&D; cup 0.1 0.1 0.5 0.6'],
    ],
    ['\ufeffImage,Label,Split\na.jpg, cup ,test\n', ['a.jpg', 'test', 'cup']],
  ];
  for (const [csv, image] of table) {
    const { images, groups, title } = await read({ 'x.csv': csv, 'a.jpg': '' });
    assert.equal(title, 'CSV (x.csv)', csv);
    assert.deepEqual([images, groups], [[image], []], csv);
  }
});

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

const bomb = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one, at) => `<!ENTITY ${one} "${`&${'abcdefg'[at]};`.repeat(10)}">`).join('')}]>`;
const yolo = (line: string, names = 'names: [cup]') => ({ 'data.yaml': names, 'a.jpg': '', 'a.txt': line });
const deep = `${'<annotation>'.repeat(40)}${'</annotation>'.repeat(40)}`;
const hostile: [name: string, files: Record<string, string>, pattern: RegExp, format?: ImportFormat][] = [
  [
    'YOLO: a class without a name',
    yolo('0 0.5 0.5 1 1\n1 0.5 0.5 1 1'),
    /class 1 has no name.* 1 classes.*a\.txt: line 2/,
  ],
  ['YOLO: a negative class', yolo('-1 0.5 0.5 1 1'), /class -1.*a\.txt: line 1/],
  ['YOLO: half a class', yolo('0.5 0.5 0.5 1 1'), /class number/],
  ['YOLO: NaN', yolo('0 nan 0.5 1 1'), /a\.txt: line 1/],
  ['YOLO: infinite', yolo('0 Infinity 0.5 1 1'), /a\.txt: line 1/],
  ['YOLO: pixels', yolo('0 320 240 100 80'), /look like pixels/],
  ['YOLO: three numbers', yolo('0 0.5 0.5 1'), /class number/],
  ['YOLO: an outline with half a corner', yolo('0 0.1 0.1 0.2 0.2 0.3 0.3 0.4'), /pairs/],
  ['YOLO: words', yolo('cup 0.5 0.5 1 1'), /class number/],
  ['YOLO: names of no class', yolo('', 'names: {}'), /names has no class/],
  ['YOLO: a name that is a list', yolo('', 'names: [[a]]'), /list of texts/],
  ['YOLO: broken YAML', yolo('', 'names: [a\nb: }'), /not YAML.*data\.yaml/],
  ['YOLO: a program in YAML', yolo('', 'names: !!js/function "function () { return 1 }"'), /not YAML/],
  ['VOC: entities that grow', { 'a.xml': `${bomb}<annotation>&h;</annotation>`, 'a.jpg': '' }, /DOCTYPE/],
  [
    'VOC: a file of this host',
    { 'a.xml': `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>${voc('&f;')}`, 'a.jpg': '' },
    /DOCTYPE/,
  ],
  ['VOC: an unknown entity', { 'a.xml': voc('&f;'), 'a.jpg': '' }, /not XML/],
  ['VOC: broken XML', { 'a.xml': '<annotation><object>', 'a.jpg': '' }, /not XML.*a\.xml/],
  ['VOC: very deep XML', { 'a.xml': deep, 'a.jpg': '' }, /32 deep/],
  ['VOC: a box of words', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'left')), 'a.jpg': '' }, /object 1/],
  ['VOC: NaN', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'NaN')), 'a.jpg': '' }, /object 1/],
  ['VOC: no name', { 'a.xml': voc('a.jpg', object('')), 'a.jpg': '' }, /object 1/],
  [
    'VOC: a wrong encoding',
    { 'a.xml': `<?xml version="1.0" encoding="klingon"?>${voc('a.jpg')}`, 'a.jpg': '' },
    /encoding klingon is not known/,
  ],
  [
    'COCO: a box of null',
    { 'a.json': coco(['a.jpg']).replace('[20', '[null'), 'a.jpg': '' },
    /bbox \[null,10,80,50\] is not/,
  ],
  [
    'COCO: a category that is not there',
    { 'a.json': coco(['a.jpg']).replace('"id":3', '"id":4'), 'a.jpg': '' },
    /category_id 3/,
  ],
  [
    'COCO: an image that is not there',
    { 'a.json': coco(['a.jpg']).replace('"image_id":0', '"image_id":9'), 'a.jpg': '' },
    /image_id 9/,
  ],
  [
    'COCO: a label of 300 characters',
    { 'a.json': coco(['a.jpg']).replace('cup', 'x'.repeat(300)), 'a.jpg': '' },
    /at most 128 characters/,
  ],
  ['CSV: a quote without an end', { 'a.csv': 'filename,class\n"a.jpg,cup\n', 'a.jpg': '' }, /[Qq]uote.*a\.csv/, 'csv'],
  [
    'CSV: edges of words',
    { 'a.csv': 'filename,class,xmin,ymin,xmax,ymax\na.jpg,cup,left,0,1,1\n', 'a.jpg': '' },
    /not four numbers: a\.csv: row 2/,
  ],
  [
    'CSV: a mark that is neither 0 nor 1',
    { 'a.csv': 'filename,cup\na.jpg,1\na.jpg,2\n', 'a.jpg': '' },
    /column cup must be 0 or 1, not 2: a\.csv: row 3/,
  ],
  [
    'JSON lines: no image',
    { 'dataset.jsonl': '{"image_path":"a.jpg"}\n{}\n', 'a.jpg': '' },
    /image_path: dataset\.jsonl: line 2/,
  ],
];
for (const [name, files, pattern, format] of hostile)
  test(`invalid by its place: ${name}`, async () => {
    const { groups } = await read(files, format);
    assert.match(groups.filter((group) => group.startsWith('invalid')).join('\n'), pattern);
  });

test('a format that the folder has not is refused with its sign', async () => {
  assert.match((await read({ 'cup/a.jpg': '' }, 'voc')).problem ?? '', /For Pascal VOC the folder needs XML/);
});
