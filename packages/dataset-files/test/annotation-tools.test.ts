// Label Studio, CVAT and CSV as their tools write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './text-folders.ts';

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
