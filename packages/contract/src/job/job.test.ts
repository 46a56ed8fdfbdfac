import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JobFormatError, parseDatasetLine, parseJobEvent, parseJobFile, parseJobSpec, imagePath } from './job.ts';
import type { DatasetLine, JobEvent, JobFile } from './job.ts';

const job: JobFile = {
  id: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  attempt: 2,
  org_id: 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  kind: 'single_label_classification',
  model_name: 'things',
  model_version: '2026-11-21T10-00-00',
  labels: ['bear', 'truck'],
  arguments: { epochs: '4' },
  seed: 7,
  limits: { wall_seconds: 600, memory_mib: 2048, disk_mib: 4096 },
  deadline: '2026-11-21T12:00:00Z',
  recipe: 'probe',
  command: ['node', 'main.ts'],
};

test('a job file survives a round trip through JSON', () => {
  assert.deepEqual(parseJobFile(JSON.parse(JSON.stringify(job))), job);
});

const badJobs: [string, object, string][] = [
  ['no id', { id: '' }, 'id'],
  ['attempt zero', { attempt: 0 }, 'attempt'],
  ['unknown kind', { kind: 'segmentation' }, 'kind'],
  ['a model name that is a path', { model_name: '../things' }, 'model_name'],
  ['labels of numbers', { labels: ['bear', 3] }, 'labels[1]'],
  ['a flag with a space', { arguments: { 'a b': '1' } }, 'arguments.a b'],
  ['a flag that is not a text', { arguments: { epochs: 4 } }, 'arguments.epochs'],
  ['seed with a fraction', { seed: 1.5 }, 'seed'],
  ['no limits', { limits: null }, 'limits'],
  ['no time', { deadline: 'soon' }, 'deadline'],
];
for (const [name, change, path] of badJobs) {
  test(`a job is refused: ${name}`, () => {
    assert.throws(
      () => parseJobSpec({ ...job, ...change }),
      (e) => e instanceof JobFormatError && e.path === path,
    );
  });
}

const line: DatasetLine = {
  image_path: 'data/x.jpg',
  sha256: 'ab'.repeat(32),
  size_bytes: 12,
  file_name: 'Bear 1.JPEG',
  split: 'test',
  classification_annotations: [{ annotation_label: 'bear', confidence: 0.5 }],
  bounding_box_annotations: [
    {
      annotation_label: 'bear',
      x_min_normalized: 0,
      y_min_normalized: 0.1,
      x_max_normalized: 1,
      y_max_normalized: 0.9,
    },
  ],
  timestamp: '2024-01-02 15:04:05.999 +0000 UTC',
  part_id: '',
  component_name: '',
  binary_data_id: 'org/location/file',
};

test('a dataset line survives a round trip, and absent texts are empty', () => {
  assert.deepEqual(parseDatasetLine(JSON.parse(JSON.stringify(line))), line);
  const { sha256, size_bytes, split } = line;
  assert.deepEqual(parseDatasetLine({ sha256, size_bytes, split }), {
    image_path: '',
    sha256,
    size_bytes,
    file_name: '',
    split,
    classification_annotations: [],
    bounding_box_annotations: [],
    timestamp: '',
    part_id: '',
    component_name: '',
  });
});

test('a dataset line is refused by the field that is wrong', () => {
  const wrong: [object, string][] = [
    [{ sha256: 'AB' }, 'sha256'],
    [{ split: 'held-out' }, 'split'],
    [{ size_bytes: -1 }, 'size_bytes'],
    [{ classification_annotations: [{ annotation_label: '' }] }, 'annotation_label'],
    [
      { bounding_box_annotations: [{ ...line.bounding_box_annotations[0], x_max_normalized: 1.2 }] },
      'x_max_normalized',
    ],
  ];
  for (const [change, path] of wrong) {
    assert.throws(
      () => parseDatasetLine({ ...line, ...change }),
      (e) => e instanceof JobFormatError && e.path === path,
      path,
    );
  }
});

const at = (file_name: string): string => imagePath({ sha256: 'f'.repeat(64), file_name }).replace('f'.repeat(64), '#');

test('an image is stored under its hash and a safe ending', () => {
  assert.equal(at('Bear 1.JPEG'), 'data/#.jpg');
  assert.equal(at('a/b/c.png'), 'data/#.png');
  assert.equal(at('noending'), 'data/#');
  assert.equal(at('evil.png/../../x'), 'data/#');
});

test('events of every kind survive a round trip, others are refused', () => {
  const head = { sequence: 1, time: '2026-11-21T10:00:00Z' };
  const events: JobEvent[] = [
    { ...head, is: 'progress', phase: 'training', progress: 0.5, eta_seconds: 12 },
    { ...head, is: 'progress', phase: 'preparing', progress: 0 },
    { ...head, is: 'metric', values: { stage: 'probe', epoch: 0, loss: 1.5 } },
    { ...head, is: 'log', level: 'info', message: '' },
    { ...head, is: 'warning', code: 'IMAGE_UNREADABLE', message: 'x' },
    { ...head, is: 'error', code: 'DATASET_EMPTY', message: 'x' },
  ];
  for (const event of events) assert.deepEqual(parseJobEvent(JSON.parse(JSON.stringify(event))), event);
  for (const wrong of [
    {},
    { ...head, is: 'other' },
    { ...head, is: 'progress', phase: 'training', progress: 2 },
    { ...head, is: 'metric', values: { a: null } },
    { ...head, sequence: 0, is: 'log', level: 'info', message: 'x' },
  ]) {
    assert.throws(() => parseJobEvent(wrong), JobFormatError);
  }
});
