import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelDescription } from '@platform/contract/job/model-output';
import { annotationsFrom, checkOutputs, resultsAbove, readOutputs } from '../src/resources/prediction.ts';
import type { Reading } from '../src/resources/prediction.ts';

const outputs =
  (values: Record<string, readonly number[]>) =>
  (name: string): Float32Array =>
    Float32Array.from(values[name] ?? []);
const labels = ['cup', 'plate'];
const probability = [0.25, 0.5];
const probabilities = { cup: 0.25, plate: 0.5 };
const detector = {
  location: [0, 0, 0.5, 0.5, 0.25, 0.25, 1, 1, 0, 0, 0.5, 0.75],
  category: [0, 1, 7],
  score: [0.25, 0.75, 0.9],
};
const box = (label: string, score: number, [left = 0, top = 0, right = 0, bottom = 0]: number[]) => ({
  label,
  score,
  x_min_normalized: left,
  y_min_normalized: top,
  x_max_normalized: right,
  y_max_normalized: bottom,
});
const plate = box('plate', 0.75, [0.25, 0.25, 1, 1]);
const cup = box('cup', 0.25, [0, 0, 0.5, 0.5]);

test('outputs become labels or boxes as the metadata of the model file says', () => {
  const best = { label: 'plate', score: 0.5, probabilities };
  const rows: [string, ModelDescription, Record<string, number[]>, Reading][] = [
    [
      'one label',
      { task: 'single_label_classification' },
      { probability },
      { task: 'single_label_classification', ...best },
    ],
    [
      'several labels, each from its threshold on, the most probable first',
      { task: 'multi_label_classification', thresholds: [0.2, 0.5] },
      { probability },
      {
        task: 'multi_label_classification',
        ...best,
        labels: [
          { label: 'plate', score: 0.5 },
          { label: 'cup', score: 0.25 },
        ],
      },
    ],
    [
      'several labels, none there',
      { task: 'multi_label_classification', thresholds: [0.3, 0.51] },
      { probability },
      { task: 'multi_label_classification', ...best, labels: [] },
    ],
    [
      'several labels without thresholds: from a half on',
      { task: 'multi_label_classification' },
      { probability },
      { task: 'multi_label_classification', ...best, labels: [{ label: 'plate', score: 0.5 }] },
    ],
    [
      'boxes of known labels',
      { task: 'object_detection', thresholds: [0.2, 0.5] },
      detector,
      { task: 'object_detection', detections: [plate, cup] },
    ],
    [
      'boxes without thresholds',
      { task: 'object_detection' },
      detector,
      { task: 'object_detection', detections: [plate] },
    ],
    [
      'boxes under their thresholds',
      { task: 'object_detection', thresholds: [0.26, 0.76] },
      detector,
      { task: 'object_detection', detections: [] },
    ],
  ];
  for (const [name, description, values, wanted] of rows)
    assert.deepEqual(readOutputs(outputs(values), { labels, description }), wanted, name);
});

test('labels, thresholds and outputs have to fit each other', () => {
  const task = 'object_detection';
  const rows: [ModelDescription, Record<string, number[]>, RegExp][] = [
    [{ task: 'single_label_classification' }, { probability: [1] }, /has 1 classes, labels\.txt names 2/],
    [
      { task: 'multi_label_classification', thresholds: [0.5] },
      { probability },
      /1 thresholds, labels\.txt names 2 labels/,
    ],
    [{ task, labels: ['a', 'b', 'c'] }, detector, /names 3 labels, labels\.txt names 2/],
    [{ task }, { ...detector, location: [0, 0, 1, 1] }, /3 scores, 3 categories, 4 edges/],
  ];
  for (const [description, values, message] of rows)
    assert.throws(() => checkOutputs(outputs(values), { labels, description }, 'labels.txt'), message);
  checkOutputs(outputs(detector), { labels, description: { task, labels, thresholds: [0.1, 0.1] } }, 'labels.txt');
});

test('an image above the threshold is unknown, and is neither labelled nor held back by the least score', () => {
  const reader = { labels, description: { task: 'single_label_classification' } as const, rejectAbove: 0.75 };
  const known = readOutputs(outputs({ probability, unlike: [0.75] }), reader);
  const unlike = { score: 0.75, threshold: 0.75, rejected: false };
  assert.deepEqual(known, { task: 'single_label_classification', label: 'plate', score: 0.5, probabilities, unlike });
  assert.deepEqual(annotationsFrom(known, 0.5).classifications, [{ label: 'plate', score: 0.5 }]);
  const other = readOutputs(outputs({ probability, unlike: [0.875] }), reader);
  assert.deepEqual(other, {
    task: 'single_label_classification',
    label: 'VIAM_UNKNOWN',
    score: 0,
    probabilities,
    unlike: { score: 0.875, threshold: 0.75, rejected: true },
  });
  assert.deepEqual(annotationsFrom(other, 0), { bboxes: [], classifications: [] });
  assert.deepEqual(resultsAbove(other, 0.9), { label: 'VIAM_UNKNOWN', unlike: 0.875 });
});

test('a log line holds what is found with the least score', () => {
  const single: Reading = { task: 'single_label_classification', label: 'cup', score: 0.5, probabilities };
  const several: Reading = { ...single, task: 'multi_label_classification', labels: [{ label: 'cup', score: 0.5 }] };
  const boxes: Reading = { task: 'object_detection', detections: [plate, cup] };
  const rows: [Reading, number, ReturnType<typeof resultsAbove>][] = [
    [single, 0.5, { label: 'cup', score: 0.5 }],
    [single, 0.6, undefined],
    [several, 0, { labels: [{ label: 'cup', score: 0.5 }] }],
    [several, 0.6, undefined],
    [boxes, 0, { detections: [plate, cup] }],
    [boxes, 0.7, { detections: [plate] }],
    [boxes, 0.8, undefined],
  ];
  for (const [reading, least, wanted] of rows) assert.deepEqual(resultsAbove(reading, least), wanted);
});
