/** The trainer as a process, on small real images. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import { decode } from '@platform/trainer-engine/images';
import { readTflite } from '@platform/trainer-engine/tflite/reader';
import * as ort from 'onnxruntime-node';
import { shapeLabels, writeJob } from './job-folder.ts';
import type { Change } from './job-folder.ts';
import { readEvents } from '../../engine/test/job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';

const main = new URL('../src/main.ts', import.meta.url);

const done = { code: 0, signal: null, stderr: '' };
const evaluationIn = async (folder: string): Promise<DetectionEvaluation> =>
  JSON.parse(await readFile(path.join(folder, jobFiles.out, modelFiles.evaluation), 'utf8')) as DetectionEvaluation;
const sha256Of = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

test('the probe alone: files, evaluation, events, and a model that runs elsewhere; the same again by the same seed', async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  for (const folder of [one.path, two.path]) {
    await writeJob(folder, { arguments: { recipe: 'probe', wings: '2' } });
    assert.deepEqual(await startTrainer(main, folder).ended, done);
  }
  const out = path.join(one.path, jobFiles.out);
  const made = ['shapes.onnx', 'shapes.tflite', 'shapes.int8.onnx', 'shapes.int8.tflite'];
  const files = [...made, ...Object.values(modelFiles)];
  assert.deepEqual((await readdir(out)).toSorted(), files.toSorted());
  assert.equal(await readFile(path.join(out, 'labels.txt'), 'utf8'), 'disc\nhouse\n');
  assert.match(await readFile(path.join(out, 'model_card.md'), 'utf8'), /^# shapes v1\n/);

  const evaluation = await evaluationIn(one.path);
  const { images, boxes, chosen, fine_tuned: longer, labels, evaluated_on: on, count, side } = evaluation;
  assert.deepEqual(images, { train: 7, validation: 1, test: 2, skipped: 0 });
  assert.deepEqual(boxes, { train: 14, validation: 2, test: 4 });
  assert.deepEqual([chosen, longer, labels, on, count, side], ['probe', null, shapeLabels, 'test', 2, 96]);
  assert.deepEqual(
    evaluation.curve.map(({ epoch, stage }) => [epoch, stage]),
    [[0, 'probe']],
  );
  assert.deepEqual(
    evaluation.per_class.map(({ label, support }) => [label, support]),
    [
      ['disc', 2],
      ['house', 2],
    ],
  );
  for (const { intervals_95: intervals, ap50, ap75 } of evaluation.per_class) {
    assert.ok(intervals?.f1 && intervals.ap50 && intervals.ap75);
    assert.ok(intervals.ap50.low <= ap50 && ap50 <= intervals.ap50.high && intervals.ap75.low <= ap75);
  }
  for (const {
    file,
    sha256,
    size_bytes: size,
    precision,
    max_difference: difference,
    latency_ms: ms,
  } of evaluation.files) {
    assert.ok((ms ?? 0) > 0, file);
    assert.equal(await sha256Of(path.join(out, file)), sha256);
    assert.equal((await readFile(path.join(out, file))).byteLength, size);
    if (precision === 'int8') assert.equal(difference, null);
    else assert.ok(difference !== null && difference <= 1e-3);
  }
  assert.deepEqual(
    evaluation.files.map(({ file }) => file),
    made,
  );
  const { int8, map50, model } = evaluation;
  assert.deepEqual([int8?.metric, int8?.float32, int8?.cases, int8?.calibration_images], ['map50', map50, 4, 7]);
  for (const form of int8?.forms ?? []) {
    assert.ok(form.is_delivered && form.size_bytes < 0.35 * model.size_bytes, `${form.file} ${form.size_bytes}`);
  }
  const [, second] = int8?.forms ?? [];
  assert.deepEqual([second?.score_by, second?.images, second?.cases], ['LiteRT (WebAssembly)', 2, 4]);
  const card = await readFile(path.join(out, 'model_card.md'), 'utf8');
  assert.match(card, /^\| shapes\.int8\.tflite \| \d+ \| [\d.]+ % .* \| delivered \| It loses at most/m);
  assert.deepEqual(
    (await evaluationIn(two.path)).files.map(({ sha256 }) => sha256),
    evaluation.files.map(({ sha256 }) => sha256),
  );

  const events = await readEvents(one.path);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, i) => i + 1),
  );
  const progress = events.flatMap((event) => (event.is === 'progress' ? [event.progress] : []));
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
  assert.equal(progress.at(-1), 1);
  assert.deepEqual(
    events.flatMap((event) => (event.is === 'warning' ? [event.message] : [])),
    ['Argument wings is not known: ignored.'],
  );

  const session = await ort.InferenceSession.create(path.join(out, 'shapes.onnx'));
  assert.deepEqual([session.inputNames, session.outputNames], [['image'], ['location', 'category', 'score']]);
  const [image = ''] = await readdir(path.join(one.path, jobFiles.images));
  const pixels = await decode(path.join(one.path, jobFiles.images, image), 96);
  const { location, category, score } = await session.run({ image: new ort.Tensor('uint8', pixels, [1, 96, 96, 3]) });
  assert.deepEqual(
    [location?.dims, category?.dims, score?.dims],
    [
      [1, 50, 4],
      [1, 50],
      [1, 50],
    ],
  );
  const corners = location?.data as Float32Array;
  assert.ok(corners.every((value) => value >= 0 && value <= 1));
  assert.ok(
    corners.every((value, i) => i % 4 < 2 || value >= (corners[i - 2] ?? 9)),
    'right of left, below top',
  );
  const categories = category?.data as Float32Array;
  assert.ok(categories.every((value) => value === 0 || value === 1));
  const { tensors, inputs, outputs } = readTflite(await readFile(path.join(out, 'shapes.tflite')));
  const named = (indices: readonly number[]): unknown[] => indices.map((i) => [tensors[i]?.name, tensors[i]?.shape]);
  assert.deepEqual(named(inputs), [['image', [1, 96, 96, 3]]]);
  assert.deepEqual(named(outputs), [
    ['location', [1, 50, 4]],
    ['category', [1, 50]],
    ['score', [1, 50]],
  ]);
});

test('eight images can be learned by heart', async () => {
  await using folder = await tempFolder();
  // What is learned is what is looked at afterwards.
  await writeJob(folder.path, {
    arguments: { side: '192', epochs: '40' },
    framework: 'onnx',
    count: { train: 8, validation: 0, test: 0 },
    lines: (lines) => [...lines, ...lines.map((one) => ({ ...one, split: 'validation' as const }))],
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, done);
  const { map50, fine_tuned: longer, evaluated_on: on, curve, per_class: perClass } = await evaluationIn(folder.path);
  assert.ok(map50 >= 0.9, `mAP50 ${map50}`);
  assert.ok(longer && longer.map50 >= 0.9);
  assert.equal(on, 'validation');
  const reported = (await readEvents(folder.path)).flatMap((event) =>
    event.is === 'progress' ? [event.progress] : [],
  );
  assert.deepEqual(
    reported,
    reported.toSorted((a, b) => a - b),
    'progress never goes back',
  );
  const [, first] = curve;
  const last = curve.at(-1);
  assert.ok(last && first && last.loss < first.loss, 'the loss falls');
  for (const { label, recall, precision } of perClass) assert.ok(recall >= 0.8 && precision >= 0.8, label);
  assert.deepEqual(
    (await readdir(path.join(folder.path, jobFiles.out))).filter((file) => file.startsWith('shapes.')),
    ['shapes.int8.onnx', 'shapes.onnx'],
  );
});

test('corrupt images are skipped; flat, tiny and unwanted boxes are reported or ignored; empty images are learned from', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, {
    arguments: { recipe: 'probe' },
    labels: ['disc'],
    count: { train: 9, validation: 2, test: 2 },
    corrupt: (n, jpeg) => (n === 1 ? jpeg.subarray(0, jpeg.length >> 1) : n === 2 ? Buffer.from('not an image') : jpeg),
    lines: (lines) => {
      for (const [i, line] of lines.entries()) {
        const [disc] = line.bounding_box_annotations;
        if (i === 3) line.bounding_box_annotations = [];
        if (i === 4 && disc) disc.x_max_normalized = disc.x_min_normalized;
        if (i === 5 && disc) disc.y_max_normalized = disc.y_min_normalized + 0.005;
      }
      return lines;
    },
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, done);
  const { images, boxes, skipped, labels } = await evaluationIn(folder.path);
  assert.deepEqual(images, { train: 7, validation: 2, test: 2, skipped: 2 });
  assert.deepEqual(boxes, { train: 5, validation: 2, test: 2 });
  assert.deepEqual(labels, ['disc']);
  assert.deepEqual(
    skipped.map(({ file_name: name, reason }) => `${name} ${reason.slice(0, 17)}`),
    ['train-1.jpg cannot be decoded', 'train-2.jpg cannot be decoded'],
  );
  const warnings = (await readEvents(folder.path)).flatMap((event) =>
    event.is === 'warning' ? [`${event.code} ${event.message.slice(0, 40)}`] : [],
  );
  assert.deepEqual(warnings, [
    'INVALID_ARGUMENT train-4.jpg has 1 boxes without an area,',
    'INVALID_ARGUMENT train-5.jpg has 1 boxes under 1 % of its',
    'INVALID_IMAGE Skipped train-1.jpg: it cannot be decode',
    'INVALID_IMAGE Skipped train-2.jpg: it cannot be decode',
  ]);
});

test('a job with hardly any time delivers what it has learned by then, and says so', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, {
    arguments: { epochs: '200' },
    count: { train: 24, test: 2 },
    framework: 'onnx',
    wallSeconds: 1,
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, done);
  const epochs = (await evaluationIn(folder.path)).curve.map(({ epoch }) => epoch);
  const logs = (await readEvents(folder.path)).flatMap((event) => (event.is === 'log' ? [event.message] : []));
  assert.ok(
    logs.some((message) => message.startsWith(`Stopped after ${epochs.at(-1)} of 200 epochs`)),
    logs.join('\n'),
  );
});

test('bad data ends with 65, the cause on stderr and as an event, and no model', async () => {
  const cases: [string, Change, RegExp, string][] = [
    ['no box of the label', { labels: ['boat'] }, /at least 1 label/, 'TOO_FEW_LABELS'],
    [
      'two boxes',
      { count: { train: 2 } },
      /Label "disc" has 2 bounding boxes to train on: 2 are in the test; the minimum is 3/,
      'TOO_FEW_BOXES',
    ],
    ['nothing at all', { lines: () => [] }, /holds no image that can be trained on: it is empty/, 'DATASET_EMPTY'],
    ['an argument', { arguments: { epochs: 'many' } }, /arguments\.epochs is not valid: many/, 'INVALID_ARGUMENT'],
    ['another model type', { kind: 'single_label_classification' }, /makes object detectors/, 'INVALID_ARGUMENT'],
    [
      'a box outside of the image',
      {
        lines: (l) =>
          l.map((one) => ({
            ...one,
            bounding_box_annotations: one.bounding_box_annotations.map((box) => ({ ...box, x_max_normalized: 1.5 })),
          })),
      },
      /x_max_normalized must be a number from 0 to 1/,
      'INVALID_ARGUMENT',
    ],
    [
      'a path outside',
      { lines: (l) => l.map((one) => ({ ...one, image_path: '../../etc/hostname' })) },
      /image_path is not valid/,
      'INVALID_ARGUMENT',
    ],
  ];
  for (const [name, change, message, code] of cases) {
    await using folder = await tempFolder();
    await writeJob(folder.path, change);
    const { code: exit, stderr } = await startTrainer(main, folder.path).ended;
    assert.equal(exit, 65, `${name}: ${stderr}`);
    assert.match(stderr, message, name);
    const errors = (await readEvents(folder.path)).flatMap((event) => (event.is === 'error' ? [event.code] : []));
    assert.deepEqual(errors, [code], name);
    assert.deepEqual(await readdir(path.join(folder.path, jobFiles.out)), [], name);
  }
});

test('an image that is not there is not the fault of the data', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { lines: (l) => l.map((one) => ({ ...one, image_path: 'data/absent.jpg' })) });
  const { code, stderr } = await startTrainer(main, folder.path).ended;
  assert.equal(code, 1);
  assert.match(stderr, /absent\.jpg/);
});

test('SIGTERM in the middle of an epoch ends with 143 and leaves no temporary file', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { arguments: { epochs: '200' } });
  const { child, ended } = startTrainer(main, folder.path);
  const watcher = watch(folder.path, async () => {
    const text = await readFile(path.join(folder.path, jobFiles.events), 'utf8').catch(() => '');
    if (!text.includes('"stage":"fine-tune"')) return;
    watcher.close();
    child.kill('SIGTERM');
  });
  const { code, signal } = await ended;
  watcher.close();
  assert.deepEqual([code, signal], [143, null]);
  assert.deepEqual(await readdir(path.join(folder.path, jobFiles.out)), []);
  const events = await readEvents(folder.path);
  assert.equal(events.filter(({ is }) => is === 'error').length, 0);
  assert.ok(events.some((event) => event.is === 'log' && event.message === 'Stopped by order.'));
});
