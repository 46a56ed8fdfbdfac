import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors';
import { readAnnotations } from './annotations.ts';

const box = {
  annotation_label: 'lid',
  x_min_normalized: 0.1,
  x_max_normalized: 0.5,
  y_min_normalized: 0,
  y_max_normalized: 1,
};

test('dataset.jsonl: labels and boxes by path', () => {
  const text = [
    {
      image_path: './data/a.jpg',
      classification_annotations: [{ annotation_label: 'cup' }],
      bounding_box_annotations: [box],
    },
    { image_path: 'data\\b.jpg' },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n');
  assert.deepEqual(
    [...readAnnotations('dataset.jsonl', `${text}\n\n`)],
    [
      ['data/a.jpg', { labels: ['cup'], boxes: [{ label: 'lid', xMin: 0.1, yMin: 0, xMax: 0.5, yMax: 1 }] }],
      ['data/b.jpg', { labels: [], boxes: [] }],
    ],
  );
});

test('COCO: boxes in pixels become shares, cut at the edge', () => {
  const coco = {
    images: [
      { id: 1, file_name: 'a.jpg', width: 200, height: 100 },
      { id: 2, file_name: 'b.jpg', width: 10, height: 10 },
    ],
    categories: [{ id: 7, name: 'lid' }],
    annotations: [{ id: 1, image_id: 1, category_id: 7, bbox: [50, 20, 200, 30] }],
  };
  assert.deepEqual(
    [...readAnnotations('instances.json', JSON.stringify(coco))],
    [
      ['a.jpg', { labels: [], boxes: [{ label: 'lid', xMin: 0.25, yMin: 0.2, xMax: 1, yMax: 0.5 }] }],
      ['b.jpg', { labels: [], boxes: [] }],
    ],
  );
});

const line = (more: object) => JSON.stringify({ image_path: 'a.jpg', ...more });
const coco = (more: object) =>
  JSON.stringify({
    images: [{ id: 1, file_name: 'a.jpg', width: 2, height: 2 }],
    categories: [{ id: 1, name: 'x' }],
    annotations: [],
    ...more,
  });
const bad: readonly [string, string, string, RegExp][] = [
  ['no JSON', 'd.jsonl', `${line({})}\nnonsense`, /d\.jsonl:2 .*image_path/],
  ['no path', 'd.jsonl', '{}', /d\.jsonl:1/],
  ['a box outside', 'd.jsonl', line({ bounding_box_annotations: [{ ...box, x_max_normalized: 1.1 }] }), /in 0\.\.1/],
  ['a box of no size', 'd.jsonl', line({ bounding_box_annotations: [{ ...box, x_max_normalized: 0.1 }] }), /in 0\.\.1/],
  ['a box of text', 'd.jsonl', line({ bounding_box_annotations: [{ ...box, x_max_normalized: '0.3' }] }), /in 0\.\.1/],
  [
    'a box without label',
    'd.jsonl',
    line({ bounding_box_annotations: [{ ...box, annotation_label: '' }] }),
    /annotation_label/,
  ],
  [
    'a label that is not a text',
    'd.jsonl',
    line({ classification_annotations: [{ annotation_label: 3 }] }),
    /annotation_label/,
  ],
  ['an image without size', 'c.json', coco({ images: [{ id: 1, file_name: 'a.jpg' }] }), /width and height/],
  [
    'an unknown image',
    'c.json',
    coco({ annotations: [{ id: 5, image_id: 9, category_id: 1, bbox: [0, 0, 1, 1] }] }),
    /annotation 5/,
  ],
  [
    'a bbox of no area',
    'c.json',
    coco({ annotations: [{ id: 5, image_id: 1, category_id: 1, bbox: [0, 0, 0, 1] }] }),
    /annotation 5/,
  ],
];
for (const [name, file, text, pattern] of bad)
  test(`annotations are refused by place: ${name}`, () => {
    assert.throws(
      () => readAnnotations(file, text),
      (error: unknown) => error instanceof PlatformError && pattern.test(error.what),
    );
  });
