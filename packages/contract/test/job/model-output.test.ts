import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxesAbove, boxesOf, describeModel, labelsAbove } from '../../src/job/model-output.ts';

test('the kind of a model comes from its metadata alone', () => {
  const rows: [string, Record<string, string>, ReturnType<typeof describeModel>][] = [
    ['nothing: as before there were tasks', {}, { task: 'single_label_classification' }],
    ['labels alone', { labels: 'a\nb' }, { task: 'single_label_classification', labels: ['a', 'b'] }],
    ['a task of another program', { task: 'segmentation' }, { task: 'single_label_classification' }],
    ['a name that every object has', { task: 'toString' }, { task: 'single_label_classification' }],
    [
      'several labels',
      { task: 'multi_label_classification', labels: 'a\nb', thresholds: '0.4\n1' },
      { task: 'multi_label_classification', labels: ['a', 'b'], thresholds: [0.4, 1] },
    ],
    [
      'one label and a score for images unlike anything seen',
      { task: 'single_label_classification', unlike_threshold: '1.2' },
      { task: 'single_label_classification', unlikeThreshold: 1.2 },
    ],
    ['a detector', { task: 'object_detection', thresholds: '0' }, { task: 'object_detection', thresholds: [0] }],
  ];
  for (const [name, metadata, wanted] of rows) assert.deepEqual(describeModel(metadata), wanted, name);
  for (const thresholds of ['', '0.5\n', 'NaN', '-0.1', '1.1', '0.5,0.5'])
    assert.throws(() => describeModel({ task: 'object_detection', thresholds }), /threshold/, thresholds);
  for (const unlike of ['', 'NaN', '-1', '2.1'])
    assert.throws(() => describeModel({ unlike_threshold: unlike }), /threshold/, unlike);
});

test('a label counts from its own threshold on', () => {
  assert.deepEqual(labelsAbove([0.3, 0.29, 0.9], [0.3, 0.3, 0.95]), [0]);
  assert.deepEqual(labelsAbove([0, 0], [0, 1]), [0]);
});

test('boxes: those of each label from its threshold on, the surest first, none that another covers', () => {
  const location = Array.from({ length: 5 }, (_, i) => [0.1 * i, 0, 0.5, 1]).flat();
  const boxes = boxesOf(location, [0, 1, 0, 1, 0], [0.4, 0.6, 0, 0.5, 0.41]);
  assert.deepEqual(boxes[1], { label: 1, score: 0.6, left: 0.1, top: 0, right: 0.5, bottom: 1 });
  const rows: [string, number[], number[]][] = [
    ['each its own', [0.41, 0.55], [0.6, 0.41]],
    ['equal is enough', [0.4, 0.6], [0.6, 0.41, 0.4]],
    ['a threshold of 0 brings no covered box back', [0, 1], [0.41, 0.4]],
    ['none', [1, 1], []],
  ];
  for (const [name, thresholds, scores] of rows)
    assert.deepEqual(
      boxesAbove(boxes, thresholds).map(({ score }) => score),
      scores,
      name,
    );
});
