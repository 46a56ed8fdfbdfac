import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  TrainingJobMetadataSchema,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { JobMetricSchema } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { evaluationView } from './evaluations.ts';
import { chartsOf, jobView, modelNameProblem, pointsOf, runTime } from './training-jobs.ts';

test('what may be done with a job follows from its status', () => {
  const table: [status: TrainingStatus, text: string, mayCancel: boolean, mayDelete: boolean][] = [
    [TrainingStatus.PENDING, 'Queued', true, false],
    [TrainingStatus.IN_PROGRESS, 'Running', true, false],
    [TrainingStatus.CANCELING, 'Canceling', false, false],
    [TrainingStatus.COMPLETED, 'Completed', false, true],
    [TrainingStatus.FAILED, 'Failed', false, true],
    [TrainingStatus.CANCELED, 'Canceled', false, true],
  ];
  for (const [status, text, mayCancel, mayDelete] of table) {
    const job = jobView(create(TrainingJobMetadataSchema, { status }));
    assert.deepEqual([job.status.text, job.mayCancel, job.mayDelete], [text, mayCancel, mayDelete]);
  }
});

test('a running job shows phase, progress and what is left; a finished one its accuracy', () => {
  const running = jobView(
    create(TrainingJobMetadataSchema, {
      status: TrainingStatus.IN_PROGRESS,
      progress: 1.2,
      phase: 'training',
      eta: durationFromMs(9000),
      trainingStarted: timestampFromMs(1000),
    }),
  );
  assert.deepEqual([running.progress, running.phase, running.eta], [1, 'training', 9000]);
  assert.equal(runTime(running, 5000), 4000);
  const done = jobView(
    create(TrainingJobMetadataSchema, {
      status: TrainingStatus.COMPLETED,
      phase: 'uploading',
      eta: durationFromMs(1),
      evaluation: { accuracy: 0.905, count: 200 },
      trainingStarted: timestampFromMs(1000),
      trainingEnded: timestampFromMs(3000),
    }),
  );
  assert.deepEqual(
    [done.progress, done.phase, done.eta, done.score],
    [1, '', undefined, { name: 'accuracy', value: '90.5 % (85.6 to 93.8 %)' }],
  );
  const detector = create(TrainingJobMetadataSchema, { score: { name: 'map50', value: 0.61 } });
  assert.deepEqual(jobView(detector).score, { name: 'mAP50', value: '61.0 %' });
  const few = create(TrainingJobMetadataSchema, { score: { name: 'accuracy', value: 0.75, count: 4 } });
  assert.deepEqual(jobView(few).score, { name: 'accuracy', value: '3 of 4' });
  assert.equal(runTime(done, 99_000), 2000);
});

test('a failed job always says something', () => {
  const job = jobView(create(TrainingJobMetadataSchema, { status: TrainingStatus.FAILED, cause: 'data' }));
  assert.deepEqual(job.failure, { what: 'The job failed without a reason.', cause: 'data' });
});

test('metrics become lines: gaps stay gaps, repeated epochs fall back to their order', () => {
  const metric = (sequence: number, values: Record<string, number | string>) =>
    create(JobMetricSchema, { sequence: BigInt(sequence), values });
  const points = pointsOf([
    metric(2, { stage: 'fine-tune', epoch: 1, loss: 0.8, validation_accuracy: 0.7 }),
    metric(1, { stage: 'probe', epoch: 0, validation_accuracy: 0.6 }),
    metric(3, { stage: 'fine-tune', epoch: 2, loss: 0.5, validation_accuracy: 0.9 }),
  ]);
  const { shares, losses } = chartsOf(points);
  assert.deepEqual(shares, { x: [0, 1, 2], lines: [{ name: 'validation accuracy', values: [0.6, 0.7, 0.9] }] });
  assert.deepEqual(losses, { x: [1, 2], lines: [{ name: 'loss', values: [0.8, 0.5] }] });
  assert.deepEqual(
    chartsOf([
      { epoch: 1, loss: 3 },
      { epoch: 1, loss: 2 },
    ]).losses.x,
    [0, 1],
  );
  assert.deepEqual(chartsOf([]), { shares: { x: [], lines: [] }, losses: { x: [], lines: [] } });
});

test('the confusion matrix is shared out by row, and an empty class does not divide by zero', () => {
  const view = evaluationView({
    accuracy: 0.75,
    count: 4,
    labels: ['a', 'b', 'c'],
    confusion: [
      [2, 1, 0],
      [0, 1, 0],
      [0, 0, 0],
    ],
  });
  assert.deepEqual(
    view?.heat.map(({ label, support, cells }) => [
      label,
      support,
      ...cells.map(({ share }) => Math.round(share * 100)),
    ]),
    [
      ['a', 3, 67, 33, 0],
      ['b', 1, 0, 100, 0],
      ['c', 0, 0, 0, 0],
    ],
  );
  assert.equal(view?.heat[0]?.cells[0]?.isRight, true);
});

test('the networks that a classifier compared, with their costs', () => {
  const network = { name: 'Lite0', stage: 'fine-tune', latency_ms: 6, seconds: 33, validation_score: 0.9 };
  const networks = {
    chosen: 'compact',
    reason: 'The accurate network is not better.',
    candidates: [
      { recipe: 'compact', ...network, size_bytes: 13_400_000 },
      { recipe: 'accurate', ...network, size_bytes: 32_600_000 },
    ],
    gain: null,
  };
  assert.deepEqual(evaluationView({ accuracy: 1, networks })?.networks, [
    'The accurate network is not better.',
    'compact, delivered (Lite0): 90.0 % on validation images, 13.4 MB, 6 ms an image, trained in 33 s.',
    'accurate (Lite0): 90.0 % on validation images, 32.6 MB, 6 ms an image, trained in 33 s.',
  ]);
  assert.deepEqual(evaluationView({ accuracy: 1, networks: { chosen: 1 } })?.networks, []);
  assert.deepEqual(evaluationView({ accuracy: 1 })?.networks, []);
});

test('the class of images with none of the labels is not shown by its name of the wire', () => {
  const image = { image_path: 'x', file_name: 'x.jpg', sha256: '1', binary_data_id: 'o/l/1' };
  const view = evaluationView({
    micro_f1: 1,
    labels: ['cup', 'VIAM_UNKNOWN'],
    per_class: [{ label: 'VIAM_UNKNOWN', precision: 1, recall: 1, f1: 1, support: 3 }],
    worst: [{ ...image, labels: ['VIAM_UNKNOWN'], predicted: ['cup', 'VIAM_UNKNOWN'] }],
  });
  assert.deepEqual(view?.labels, ['cup', 'none of the labels']);
  assert.ok(!JSON.stringify(view).includes('VIAM_UNKNOWN'));
});

test('the INT8 forms: delivered with size and scores, left out with the reason, none without time', () => {
  const form = { format: 'onnx', file: 'a.int8.onnx', size_bytes: 3_700_000, score: 0.9, score_by: 'x' };
  const report = { calibration_images: 64, metric: 'accuracy', float32: 0.9, cases: 100 };
  const textsOf = (forms: object[]): readonly string[] | undefined =>
    evaluationView({ accuracy: 0.9, int8: { ...report, forms } as never })?.int8;
  const reason = 'It loses at most one standard error.';
  assert.deepEqual(textsOf([{ ...form, is_delivered: true, reason }]), [`a.int8.onnx, 3.7 MB: ${reason}`]);
  assert.deepEqual(textsOf([{ ...form, is_delivered: false, reason: 'It loses more.' }]), [
    'a.int8.onnx is left out: It loses more.',
  ]);
  assert.deepEqual(textsOf([]), ['No INT8 form: the time of the job was over.']);
  assert.deepEqual(evaluationView({ accuracy: 1, int8: 3 })?.int8, []);
  assert.deepEqual(evaluationView({ accuracy: 1 })?.int8, []);
});

test('the images above the threshold of the score for images unlike anything seen', () => {
  const unlike = { threshold: 0.8, chosen_on: 'validation', chosen_count: 40, chosen_above: 2, count: 60, above: 5 };
  const textOf = (more: object): string => evaluationView({ accuracy: 1, unlike, ...more })?.unlike ?? '';
  assert.equal(
    textOf({ evaluated_on: 'test' }),
    'Images unlike anything seen have a score above 0.8. Above it are 2 of 40 validation images, which chose it, and 5 of 60 test images; all of them show known labels.',
  );
  assert.ok(!textOf({ evaluated_on: 'validation' }).includes('60'));
  assert.equal(textOf({ unlike: { threshold: 'high' } }), '');
  assert.equal(textOf({ unlike: undefined }), '');
});

test('a score of few images stands beside the cross-validated one', () => {
  const evaluation = { accuracy: 0.875, count: 16 };
  const folded = { score: 'accuracy', value: 0.9, count: 100, folds: 5 };
  const text = evaluationView({ ...evaluation, cross_validation: folded })?.crossValidation ?? '';
  assert.match(text, /^Only 16 images are held out\. .*90\.0 % \(82\.6 to 94\.5 %\) on 100 images in 5 folds/);
  assert.equal(evaluationView(evaluation)?.crossValidation, undefined);
});

test('a prediction is shown as such, and makes no version', () => {
  const job = jobView(create(TrainingJobMetadataSchema, { kind: 'predict', modelName: 'm', modelVersion: '1' }));
  assert.deepEqual([job.isPrediction, job.type, job.modelId], [true, 'Suggestions', '']);
});

test('a detector: its figures, its columns, and what was missed or wrong as boxes', () => {
  const box = {
    label: 'cup',
    x_min_normalized: 0.25,
    y_min_normalized: 0,
    x_max_normalized: 0.75,
    y_max_normalized: 0.5,
  };
  const image = { image_path: 'x', file_name: 'x.jpg', sha256: '1', binary_data_id: 'o/l/1' };
  const view = evaluationView({
    task: 'object_detection',
    map50: 0.61,
    map75: 0.4,
    map: 0.35,
    labels: ['cup'],
    per_class: [
      { label: 'cup', precision: 0.9, recall: 0.5, f1: 0.64, support: 20, ap50: 0.61, ap75: 0.4, threshold: 0.3 },
    ],
    probe: { map50: 0.3, map75: 0.1, map: 0.1 },
    fine_tuned: { map50: 0.61, map75: 0.4, map: 0.35 },
    worst: [
      { ...image, missed: [box], wrong: [{ ...box, label: 'pen', score: 0.87 }] },
      { ...image, missed: [], wrong: [] },
    ],
  });
  assert.deepEqual(
    view?.figures.map(({ name, value }) => [name, value]),
    [
      ['mAP50', '61.0 %'],
      ['mAP75', '40.0 %'],
      ['mAP50–95', '35.0 %'],
    ],
  );
  assert.deepEqual(view?.classes, {
    columns: ['AP50', 'AP75', 'Precision', 'Recall', 'F1', 'Threshold', 'Boxes'],
    rows: [
      {
        label: 'cup',
        cells: ['61 % (40–79)', '40 % (22–61)', '10 of 11', '50 % (30–70)', '64 % (44–81)', '0.30', '20'],
      },
    ],
  });
  assert.deepEqual(view?.scores, [
    { name: 'Probe', value: '30.0 %' },
    { name: 'Fine-tuned', value: '61.0 %' },
  ]);
  assert.deepEqual(view?.heat, []);
  assert.deepEqual(
    view?.mistakes.map(({ truth, predicted, boxes }) => [
      truth,
      predicted,
      boxes.length,
      boxes[0]?.width,
      boxes[1]?.is,
    ]),
    [['cup', 'pen (87 %)', 2, 0.5, 'wrong']],
  );
});

test('several labels: figures and mistakes', () => {
  const view = evaluationView({
    task: 'multi_label_classification',
    micro_f1: 0.9,
    macro_f1: 0.8,
    exact_match: 0.7,
    mean_average_precision: 0.95,
    labels: ['a', 'b'],
    per_class: [{ label: 'a', precision: 1, recall: 1, f1: 1, support: 3, average_precision: 1, threshold: 0.5 }],
    worst: [
      { image_path: 'x', file_name: 'x', sha256: '1', binary_data_id: 'o/l/1', labels: ['a', 'b'], predicted: [] },
    ],
  });
  assert.deepEqual(
    view?.figures.map(({ name }) => name),
    ['Micro F1', 'Macro F1', 'All labels right', 'Mean average precision'],
  );
  assert.deepEqual(view?.classes.columns, ['Avg. precision', 'Precision', 'Recall', 'F1', 'Threshold', 'Images']);
  assert.deepEqual([view?.mistakes[0]?.truth, view?.mistakes[0]?.predicted], ['a, b', 'no label']);
});

test('what is not an evaluation has no view', () => {
  assert.equal(evaluationView(undefined), undefined);
  assert.equal(evaluationView({ f1: 1 }), undefined);
  assert.deepEqual(evaluationView({ accuracy: 1 })?.scores, []);
});

test('model names', () => {
  for (const good of ['a', 'objects-10', '7-x_y']) assert.equal(modelNameProblem(good), undefined);
  for (const bad of ['', '-a', 'a b', 'a/b', 'a.b', 'ü', 'x'.repeat(129)])
    assert.equal(typeof modelNameProblem(bad), 'string');
});
