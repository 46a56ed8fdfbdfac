/** The trainer as a process, on small real images. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import type { DatasetLine } from '@platform/contract/job/job';
import type { Evaluation, MultiLabelEvaluation } from '@platform/contract/job/evaluation';
import * as ort from 'onnxruntime-node';
import { decode } from '@platform/trainer-engine/images';
import { seeded } from '@platform/trainer-engine/random';
import { shapeLabels, writeJob } from './job-folder.ts';
import { readEvents } from '../../engine/test/job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';

const main = new URL('../src/main.ts', import.meta.url);

const evaluationIn = async (folder: string): Promise<Evaluation> =>
  JSON.parse(await readFile(path.join(folder, jobFiles.out, modelFiles.evaluation), 'utf8')) as Evaluation;
const sha256Of = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

test('probe and one epoch: files, evaluation, events, and a model that runs elsewhere', async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  for (const folder of [one.path, two.path]) {
    await writeJob(folder, { arguments: { epochs: '1' } });
    assert.deepEqual(await startTrainer(main, folder).ended, { code: 0, signal: null, stderr: '' });
  }
  const out = path.join(one.path, jobFiles.out);
  assert.deepEqual((await readdir(out)).toSorted(), [
    'curves.png',
    'evaluation.json',
    'labels.txt',
    'model_card.json',
    'model_card.md',
    'shapes.int8.onnx',
    'shapes.int8.tflite',
    'shapes.onnx',
    'shapes.tflite',
  ]);
  assert.equal(await readFile(path.join(out, 'labels.txt'), 'utf8'), 'circle\ncross\nstripes\n');
  assert.match(await readFile(path.join(out, 'model_card.md'), 'utf8'), /^# shapes v1\n/);

  const evaluation = await evaluationIn(one.path);
  assert.deepEqual(evaluation.images, { train: 21, validation: 3, test: 6, skipped: 0 });
  assert.deepEqual([evaluation.evaluated_on, evaluation.count, evaluation.side], ['test', 6, 96]);
  assert.deepEqual(
    evaluation.curve.map(({ epoch, stage }) => [epoch, stage]),
    [
      [0, 'probe'],
      [1, 'fine-tune'],
    ],
  );
  assert.ok(evaluation.accuracy >= 0.8, `accuracy ${evaluation.accuracy}`);
  assert.ok(evaluation.probe && evaluation.fine_tuned);
  assert.ok(evaluation.calibration && evaluation.calibration.temperature >= 0.25 && evaluation.calibration.error < 0.6);
  assert.ok(!('offsets' in evaluation.calibration), 'three validation images choose none');
  const card = await readFile(path.join(out, 'model_card.md'), 'utf8');
  assert.match(card, /Probabilities are off by [\d.]+ % on average .* before the temperature [\d.]+\)\.$/m);
  const { cross_validation: folded } = evaluation;
  assert.deepEqual([folded?.score, folded?.count, folded?.folds], ['accuracy', 30, 5]);
  assert.ok((folded?.value ?? 0) >= 0.8, `cross-validated accuracy ${folded?.value}`);
  assert.match(
    card,
    /^## Cross-validation\nOnly 6 images are held out\. Cross-validated accuracy of the linear probe: [\d.]+ % \([\d.]+ to [\d.]+ %\) on 30 images in 5 folds/m,
  );
  assert.ok(evaluation.model.max_difference <= 1e-4);
  assert.deepEqual(
    evaluation.files.map(({ file }) => file),
    ['shapes.onnx', 'shapes.tflite', 'shapes.int8.onnx', 'shapes.int8.tflite'],
  );
  for (const { file, sha256, precision, max_difference: difference, latency_ms: ms } of evaluation.files) {
    assert.ok((ms ?? 0) > 0, file);
    assert.equal(await sha256Of(path.join(out, file)), sha256);
    const allowed = precision === 'int8' ? 0.2 : 1e-4;
    assert.ok(difference !== null && difference <= allowed, `${file} differs by ${difference}`);
  }

  // Three validation images: the highest of their scores is the threshold.
  const { threshold = -1, ...counts } = evaluation.unlike ?? {};
  assert.ok(threshold > 0 && threshold < 2, `threshold ${threshold}`);
  assert.deepEqual(
    { ...counts, above: 0 },
    { chosen_on: 'validation', chosen_count: 3, chosen_above: 0, count: 6, above: 0 },
  );
  const bytes = await readFile(path.join(out, 'shapes.onnx'));
  assert.ok(
    bytes.includes('unlike_threshold') && bytes.includes(String(threshold)),
    'the model file has the threshold',
  );
  assert.match(await readFile(path.join(out, 'model_card.md'), 'utf8'), /`unlike`: float32 \[1, 1\].*above [\d.]+/);

  // Same seed and images: the same weights, to the byte.
  assert.equal((await evaluationIn(two.path)).model.sha256, evaluation.model.sha256);

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
    events.flatMap((event) => (event.is === 'metric' ? [event.values['stage']] : [])),
    ['probe', 'fine-tune'],
  );

  const session = await ort.InferenceSession.create(path.join(out, 'shapes.onnx'));
  assert.deepEqual([session.inputNames, session.outputNames], [['image'], ['probability', 'unlike']]);
  const files = await readdir(path.join(one.path, jobFiles.images));
  const pixels = await decode(path.join(one.path, jobFiles.images, files[0] ?? ''), 96);
  const { probability, unlike: score } = await session.run({ image: new ort.Tensor('uint8', pixels, [1, 96, 96, 3]) });
  assert.deepEqual(score?.dims, [1, 1]);
  assert.deepEqual(probability?.dims, [1, 3]);
  const sum = [...((probability?.data ?? []) as Float32Array)].reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 1) < 1e-5);
});

test('the INT8 form: a third of the size, its own score in evaluation and card, and the same labels elsewhere', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { arguments: { recipe: 'probe' }, count: { train: 12, validation: 2, test: 8 } });
  assert.deepEqual(await startTrainer(main, folder.path).ended, { code: 0, signal: null, stderr: '' });
  const out = path.join(folder.path, jobFiles.out);
  const { int8, files, accuracy, labels, model } = await evaluationIn(folder.path);
  assert.deepEqual([int8?.metric, int8?.float32, int8?.cases], ['accuracy', accuracy, 24]);
  // Only images to train on choose the ranges.
  assert.equal(int8?.calibration_images, 36);
  const [form, second] = int8.forms;
  assert.deepEqual([second?.file, second?.is_delivered], ['shapes.int8.tflite', true]);
  assert.deepEqual([second?.score_by, second?.images, second?.cases], ['LiteRT (WebAssembly)', 24, 24]);
  assert.ok(Math.abs((second?.score ?? 9) - accuracy) <= 0.2, `score ${second?.score}, accuracy ${accuracy}`);
  const file = files.find(({ file: name }) => name === 'shapes.int8.onnx');
  assert.ok(form && file && form.is_delivered && form.size_bytes === file.size_bytes);
  assert.ok(file.size_bytes < 0.3 * model.size_bytes, `${file.size_bytes} of ${model.size_bytes} bytes`);
  const card = await readFile(path.join(out, modelFiles.cardText), 'utf8');
  assert.match(
    card,
    /^\| shapes\.int8\.onnx \| \d+ \| [\d.]+ % .* \| delivered \| It loses at most one standard error/m,
  );
  assert.match(card, /^- The score of shapes\.int8\.tflite was measured with LiteRT .* on 24 held-out images\.$/m);
  assert.match(card, /^The same network with 8-bit numbers.* 36 training images chose the ranges/m);
  // The sample program runs a float32 file.
  assert.match(card, /^found = Interpreter\("shapes\.tflite"\)/m);

  const session = await ort.InferenceSession.create(path.join(out, 'shapes.int8.onnx'));
  assert.deepEqual([session.inputNames, session.outputNames], [['image'], ['probability', 'unlike']]);
  const images = path.join(folder.path, jobFiles.images);
  const lines = (await readFile(path.join(folder.path, jobFiles.dataset), 'utf8')).trimEnd().split('\n');
  let right = 0;
  for (const line of lines.map((text) => JSON.parse(text) as DatasetLine)) {
    if (line.split !== 'test') continue;
    const pixels = await decode(path.join(images, path.basename(line.image_path)), 96);
    const { probability } = await session.run({ image: new ort.Tensor('uint8', pixels, [1, 96, 96, 3]) });
    const found = [...((probability?.data ?? []) as Float32Array)];
    const label = labels[found.indexOf(Math.max(...found))];
    if (label === line.classification_annotations[0]?.annotation_label) right++;
  }
  assert.equal(right / 24, form.score);
});

test('any number of labels: thresholds, figures, unlabelled images are unknown, and the same weights by the same seed', async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  for (const folder of [one.path, two.path]) {
    await writeJob(folder, {
      kind: 'multi_label_classification',
      framework: 'onnx',
      labels: ['circle', 'stripes', 'absent'],
      arguments: { epochs: '2' },
      count: { train: 12, test: 6 },
    });
    assert.deepEqual(await startTrainer(main, folder).ended, { code: 0, signal: null, stderr: '' });
  }
  const out = path.join(one.path, jobFiles.out);
  const evaluation = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as MultiLabelEvaluation;
  const { task, labels, per_class: reports, files, curve, device } = evaluation;
  // Crosses alone carry none of the requested labels.
  assert.deepEqual([task, labels], ['multi_label_classification', ['circle', 'stripes', 'VIAM_UNKNOWN']]);
  assert.ok(!('unlike' in evaluation));
  assert.deepEqual(
    reports.map(({ support }) => support),
    [12, 12, 2],
  );
  assert.ok(evaluation.micro_f1 >= 0.6, `micro F1 ${evaluation.micro_f1}`);
  const { cross_validation: folded } = evaluation;
  assert.ok(folded?.score === 'micro_f1' && folded.count === 54 && folded.value >= 0.5, JSON.stringify(folded));
  assert.ok(reports.every(({ threshold }) => threshold > 0 && threshold < 1));
  assert.ok(evaluation.probe && evaluation.fine_tuned && device.name === 'cpu');
  assert.deepEqual(
    files.map(({ file }) => file),
    ['shapes.onnx', 'shapes.int8.onnx'],
  );
  assert.deepEqual(
    (await readdir(out)).filter((file) => file.endsWith('.tflite')),
    [],
  );
  assert.ok(curve.every(({ validation_micro_f1: f1 }) => f1 !== null && f1 >= 0 && f1 <= 1));
  const card = JSON.parse(await readFile(path.join(out, modelFiles.cardJson), 'utf8')) as { thresholds: unknown };
  assert.deepEqual(card.thresholds, Object.fromEntries(reports.map(({ label, threshold }) => [label, threshold])));
  const cardText = await readFile(path.join(out, modelFiles.cardText), 'utf8');
  assert.match(cardText, /counts as there from/);
  for (const { label, intervals_95: intervals, f1, average_precision: ap } of reports) {
    assert.ok(intervals?.f1 && intervals.f1.low <= f1 && f1 <= intervals.f1.high, `F1 of ${label}`);
    assert.ok(intervals.average_precision && intervals.average_precision.low <= ap, `average precision of ${label}`);
    assert.match(cardText, new RegExp(`^\\| ${label} .*% \\(\\d+–\\d+\\) .*% \\(\\d+–\\d+\\)`, 'm'));
  }
  const logged = (await readEvents(one.path)).flatMap((event) => (event.is === 'log' ? [event.message] : []));
  assert.ok(logged.some((message) => message.startsWith('Trains on the CPU.')));
  assert.ok(logged.at(-1)?.startsWith('Micro F1 '), logged.at(-1));

  const bytes = await readFile(path.join(out, 'shapes.onnx'));
  assert.ok(bytes.includes(reports.map(({ threshold }) => threshold).join('\n')), 'the model file has the thresholds');
  assert.equal((await evaluationIn(two.path)).model.sha256, evaluation.model.sha256);
});

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><rect width="90" height="90"/></svg>';

test('the probe alone; corrupt, ambiguous and unlabelled images are skipped, counted and named', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, {
    arguments: { recipe: 'probe', wings: '2' },
    corrupt: (n, jpeg) =>
      // An SVG is an image, but is never decoded from unknown sources.
      n === 1 ? jpeg.subarray(0, jpeg.length >> 1) : n === 2 ? Buffer.from(svg) : jpeg,
    lines: (lines) => {
      for (const [i, line] of lines.entries()) {
        if (i === 12) line.classification_annotations.push({ annotation_label: 'circle' });
        if (i === 13) line.classification_annotations = [];
      }
      return lines;
    },
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, { code: 0, signal: null, stderr: '' });
  const { images, skipped, chosen, fine_tuned: fineTuned, labels, unlike } = await evaluationIn(folder.path);
  // No image validates: each training image was compared with the others.
  assert.deepEqual([unlike?.chosen_on, unlike?.chosen_count, unlike?.chosen_above], ['train', 20, 0]);
  assert.deepEqual(images, { train: 20, validation: 0, test: 6, skipped: 4 });
  assert.deepEqual([chosen, fineTuned, labels], ['probe', null, shapeLabels]);
  const reasons = skipped.map(({ file_name: name, reason }) => `${name} ${reason.slice(0, 17)}`).toSorted();
  assert.deepEqual(reasons, [
    'circle-train-1.jpg cannot be decoded',
    'circle-train-2.jpg cannot be decoded',
    'cross-train-2.jpg has several label',
    'cross-train-3.jpg has none of the l',
  ]);
  const warnings = (await readEvents(folder.path)).flatMap((event) => (event.is === 'warning' ? [event.code] : []));
  assert.deepEqual(warnings.toSorted(), [
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    'INVALID_IMAGE',
    'INVALID_IMAGE',
  ]);
});

test('without test images the figures are those of validation, and say so', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { arguments: { recipe: 'probe' }, count: { train: 6, validation: 2, test: 0 } });
  assert.equal((await startTrainer(main, folder.path).ended).code, 0);
  const { evaluated_on: on, count, images, calibration } = await evaluationIn(folder.path);
  assert.deepEqual([on, count, images], ['validation', 6, { train: 18, validation: 6, test: 0, skipped: 0 }]);
  // What changes answers must not be chosen by the images that give the score.
  assert.ok(calibration && !('offsets' in calibration));
});

test('labels that images do not explain: the answers get the balance of the validation images, in the files, too', async () => {
  await using folder = await tempFolder();
  const random = seeded('any label');
  await writeJob(folder.path, {
    arguments: { recipe: 'probe' },
    count: { train: 20, validation: 30, test: 30 },
    lines: (lines) =>
      lines.map((line) => ({
        ...line,
        classification_annotations: [{ annotation_label: random() < 0.25 ? 'broken' : 'whole' }],
      })),
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, { code: 0, signal: null, stderr: '' });
  const { labels, calibration, accuracy, files } = await evaluationIn(folder.path);
  const { offsets: [broken = 0, whole = 0] = [], accuracy_before: before = 1 } = calibration ?? {};
  assert.deepEqual(labels, ['broken', 'whole']);
  assert.ok(whole > broken + 0.3, `${broken}, ${whole}`);
  assert.ok(accuracy > before + 0.05, `${before} to ${accuracy}`);
  for (const { file, max_difference: difference } of files.filter(({ precision }) => precision === undefined)) {
    assert.ok(difference !== null && difference <= 1e-4, `${file} differs by ${difference}`);
  }
  const card = await readFile(path.join(folder.path, jobFiles.out, modelFiles.cardText), 'utf8');
  assert.match(card, / before the temperature [\d.]+ and the offsets of the labels\)\.$/m);
  assert.match(card, /^Without the offsets, accuracy would be [\d.]+ %\.$/m);
});

test('validation images of one label alone do not choose how often the model says it', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, {
    arguments: { recipe: 'probe' },
    count: { train: 20, validation: 10, test: 4 },
    lines: (lines) => {
      const [named = ''] = shapeLabels;
      return lines.map((line) =>
        line.split === 'validation' ? { ...line, classification_annotations: [{ annotation_label: named }] } : line,
      );
    },
  });
  assert.deepEqual(await startTrainer(main, folder.path).ended, { code: 0, signal: null, stderr: '' });
  const { calibration, unlike, evaluated_on: on } = await evaluationIn(folder.path);
  assert.deepEqual([on, unlike?.chosen_on, unlike?.chosen_count], ['test', 'validation', 30]);
  assert.ok(calibration && !('offsets' in calibration));
});

test('bad data ends with 65, the cause on stderr and as an event, and no model', async () => {
  const cases: [string, Parameters<typeof writeJob>[1], RegExp, string][] = [
    [
      'one label',
      { labels: ['cross'], lines: (l) => l.filter(({ file_name: n }) => n.startsWith('cross')) },
      /at least 2 label/,
      'TOO_FEW_LABELS',
    ],
    [
      'a thin label',
      { count: { train: 2 } },
      /Label "circle" has 2 images to train on: 2 are in the test; the minimum is 3/,
      'TOO_FEW_IMAGES',
    ],
    ['nothing at all', { lines: () => [] }, /holds no image that can be trained on: it is empty/, 'DATASET_EMPTY'],
    ['an argument', { arguments: { epochs: 'many' } }, /arguments\.epochs is not valid: many/, 'INVALID_ARGUMENT'],
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
    assert.equal(exit, 65, name);
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

test('recipe accurate: two networks in one file; auto compares both and stays within the size of the job', async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  await using three = await tempFolder();
  await writeJob(one.path, { arguments: { recipe: 'accurate', epochs: '1' } });
  assert.deepEqual(await startTrainer(main, one.path).ended, { code: 0, signal: null, stderr: '' });
  const accurate = await evaluationIn(one.path);
  assert.match(accurate.pretrained.name, /Lite0.*Lite2/);
  assert.deepEqual([accurate.networks?.chosen, accurate.networks?.candidates.length], ['accurate', 2]);
  assert.ok(accurate.accuracy >= 0.8 && accurate.model.size_bytes < 33.5e6, `${accurate.model.size_bytes} bytes`);
  for (const { precision, max_difference: difference } of accurate.files) {
    if (precision === undefined) assert.ok(difference !== null && difference <= 1e-4);
  }
  const sizes = accurate.int8?.forms.map((form) => [form.is_delivered, form.size_bytes < 10e6]);
  assert.deepEqual(sizes, [
    [true, true],
    [true, true],
  ]);

  const count = { train: 8, validation: 7, test: 2 };
  await writeJob(two.path, { framework: 'onnx', count, arguments: { recipe: 'auto', epochs: '1' } });
  assert.deepEqual(await startTrainer(main, two.path).ended, { code: 0, signal: null, stderr: '' });
  const { networks, pretrained, model } = await evaluationIn(two.path);
  assert.ok(networks?.gain && networks.gain.images === 21);
  const delivered = networks.candidates.find(({ recipe }) => recipe === networks.chosen);
  assert.deepEqual(
    [delivered?.name, delivered && model.size_bytes - delivered.size_bytes < 50_000],
    [pretrained.name, true],
  );
  const card = await readFile(path.join(two.path, jobFiles.out, modelFiles.cardText), 'utf8');
  assert.match(card, /## Networks\n[\s\S]*accurate/);
  const shares = (await readEvents(two.path)).flatMap((event) => (event.is === 'progress' ? [event.progress] : []));
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => a - b),
  );
  assert.equal(shares.at(-1), 1);

  const limited = { recipe: 'auto', epochs: '1', max_model_megabytes: '20' };
  await writeJob(three.path, { framework: 'onnx', count, arguments: limited });
  assert.deepEqual(await startTrainer(main, three.path).ended, { code: 0, signal: null, stderr: '' });
  const small = await evaluationIn(three.path);
  assert.deepEqual([small.networks?.chosen, small.networks?.candidates.length], ['compact', 1]);
  assert.match(small.networks?.reason ?? '', /needs 33.* MB, the job allows 20 MB/);
});

test('a job whose files would be larger than it allows is refused', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { arguments: { recipe: 'accurate', max_model_megabytes: '20' } });
  const { code, stderr } = await startTrainer(main, folder.path).ended;
  assert.equal(code, 65);
  assert.match(stderr, /INVALID_ARGUMENT.*the model files of the recipe accurate have 33/);
});
