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
  assert.deepEqual([done.progress, done.phase, done.eta, done.accuracy, done.heldOut], [1, '', undefined, 0.905, 200]);
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

test('the confusion matrix is shared out by row, and an empty class is no division by zero', () => {
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

test('what is no evaluation is none', () => {
  assert.equal(evaluationView(undefined), undefined);
  assert.equal(evaluationView({ f1: 1 }), undefined);
  assert.deepEqual(evaluationView({ accuracy: 1 })?.scores, []);
});

test('model names', () => {
  for (const good of ['a', 'objects-10', '7.x_y']) assert.equal(modelNameProblem(good), undefined);
  for (const bad of ['', '-a', 'a b', 'a/b', 'ü', 'x'.repeat(129)])
    assert.equal(typeof modelNameProblem(bad), 'string');
});
