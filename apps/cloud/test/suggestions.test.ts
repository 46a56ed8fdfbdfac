// Predictions as jobs of the queue, their results as suggestions, and what they are never: labels.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import {
  MLTrainingService,
  ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import type { DatasetLine } from '@platform/contract/job/job';
import { datasetOf, submission } from './training-data.ts';
import { outcome, type TrainingServer, trainingServer } from './training-server.ts';

type Predicted = { label: string; score: number; box?: number[] };
type Line = { suggestions?: Predicted[]; scores?: Record<string, number>; copy_group?: number };

async function completed(server: TrainingServer, kind: string, files: Record<string, string>): Promise<void> {
  const runner = server.client(RunnerService, 'runner');
  const { job } = await runner.leaseJob({ runnerId: 'r1', kinds: [kind] });
  assert.ok(job, `a job of kind ${kind}`);
  const stored = await Promise.all(
    Object.entries(files).map(async ([path, text]) => ({ path, ...(await server.putBlob(Buffer.from(text))) })),
  );
  await runner.completeJob({ jobId: job.id, attempt: job.attempt, runnerId: 'r1', files: stored });
}

const modelFiles = { 'm.onnx': 'weights', 'labels.txt': 'a\nb\n' };

/** A dataset, a model that was trained on it, and clients. */
async function setUp(counts: Record<string, number> = { a: 10, b: 10, '': 4 }) {
  const server = await trainingServer();
  const datasetId = await datasetOf(server, counts);
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');
  const suggestions = server.client(SuggestionService, 'owner');
  const organizationId = server.own.orgId;
  await training.submitTrainingJob(submission(server, datasetId));
  await completed(server, 'single_label_classification', modelFiles);
  const start = async (more: object = {}) =>
    (
      await suggestions.startPrediction({
        organizationId,
        datasetId,
        modelName: 'm',
        modelVersion: 'latest',
        ...more,
      })
    ).jobId;
  const lease = async () => {
    const { job } = await runner.leaseJob({ runnerId: 'r1', kinds: ['predict'] });
    assert.ok(job);
    const manifest = await server.blobs.get(job.manifestSha256);
    const text = (await Array.fromAsync(manifest as AsyncIterable<Buffer>)).join('');
    const lines = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as DatasetLine);
    return { job, lines };
  };
  /** Completes the leased job with what `predict` says of each image of the manifest. */
  const predictWith = async (predict: (line: DatasetLine, place: number) => Line) => {
    const { job, lines } = await lease();
    const results = lines.map((line, place) =>
      JSON.stringify({ binary_data_id: line.binary_data_id, suggestions: [], scores: {}, ...predict(line, place) }),
    );
    const file = { path: 'predictions.jsonl', ...(await server.putBlob(Buffer.from(results.join('\n')))) };
    const done = await runner.completeJob({ jobId: job.id, attempt: job.attempt, runnerId: 'r1', files: [file] });
    return { job, lines, done };
  };
  const listed = async (lines: readonly DatasetLine[]) =>
    (await suggestions.listSuggestions({ datasetId, binaryDataIds: lines.map((line) => line.binary_data_id ?? '') }))
      .images;
  return {
    server,
    datasetId,
    organizationId,
    training,
    runner,
    suggestions,
    start,
    lease,
    predictWith,
    listed,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const isUnlabelled = (line: DatasetLine): boolean => line.classification_annotations.length === 0;

test('a prediction is a job with the model as its input, and its results are suggestions of that version', async () => {
  await using world = await setUp();
  const { training, start, predictWith, listed, datasetId } = world;
  const id = await start({ unlabeledOnly: true });
  const { job, lines, done } = await predictWith((_, place) => ({
    suggestions: [{ label: 'a', score: 0.9 - place / 10 }],
    scores: { a: 0.9 - place / 10, b: 0.05 },
  }));
  assert.equal(job.id, id);
  const spec = job.spec as { kind: string; model: { name: string; version: string } };
  assert.deepEqual([spec.kind, spec.model.name, spec.model.version], ['predict', 'm', '1']);
  assert.equal(lines.length, 4, 'only the unlabelled images');
  assert.equal(done.modelId, '');
  const found = await listed(lines);
  assert.deepEqual(
    found.map((image) =>
      image.suggestions.map(({ label, score, rejected }) => `${label} ${score.toFixed(1)} ${rejected}`),
    ),
    [['a 0.9 false'], ['a 0.8 false'], ['a 0.7 false'], ['a 0.6 false']],
  );
  assert.deepEqual(
    found.map((one) => `${one.modelName} ${one.modelVersion} ${one.jobId === id} ${one.madeOn !== undefined}`),
    Array.from({ length: 4 }, () => 'm 1 true true'),
  );
  const { metadata } = await training.getTrainingJob({ id });
  assert.deepEqual(
    [metadata?.status, metadata?.kind, metadata?.modelType, metadata?.isCustomJob, metadata?.syncedModelId],
    [TrainingStatus.COMPLETED, 'predict', ModelType.SINGLE_LABEL_CLASSIFICATION, false, ''],
  );
  assert.equal(metadata?.datasetId, datasetId);
});

test('existing clients do not see predictions among training jobs; who asks for them does', async () => {
  await using world = await setUp();
  const { training, start, organizationId } = world;
  const id = await start();
  const list = async (includePredictions: boolean) =>
    (await training.listTrainingJobs({ organizationId, includePredictions })).jobs.map((job) => job.kind);
  assert.deepEqual(await list(false), ['single_label_classification']);
  assert.deepEqual(await list(true), ['predict', 'single_label_classification']);
  await training.cancelTrainingJob({ id });
  assert.equal((await training.getTrainingJob({ id })).metadata?.status, TrainingStatus.CANCELED);
  await training.deleteCompletedTrainingJob({ id });
  assert.deepEqual(await list(true), ['single_label_classification']);
});

test('suggestions are not labels: what trains on the dataset does not see them until a user adds the label', async () => {
  await using world = await setUp();
  const { server, training, runner, datasetId, start, predictWith, listed } = world;
  await start();
  const { lines } = await predictWith(() => ({ suggestions: [{ label: 'a', score: 0.99 }], scores: { a: 0.99 } }));
  const [first] = lines.filter(isUnlabelled);
  assert.ok(first?.binary_data_id);
  const labelsTrained = async (modelVersion: string) => {
    await training.submitTrainingJob(submission(server, datasetId, { modelVersion }));
    const { job } = await runner.leaseJob({ runnerId: `r ${modelVersion}`, kinds: ['single_label_classification'] });
    const stored = await server.blobs.get(job?.manifestSha256 ?? '');
    const text = (await Array.fromAsync(stored as AsyncIterable<Buffer>)).join('');
    return text.split('\n').filter((line) => line !== '' && isUnlabelled(JSON.parse(line) as DatasetLine)).length;
  };
  assert.equal(await labelsTrained('2'), 4);
  await server
    .client(DataService, 'owner')
    .addTagsToBinaryDataByIDs({ binaryDataIds: [first.binary_data_id], tags: ['a'] });
  assert.equal(await labelsTrained('3'), 3);
  assert.equal((await listed([first])).length, 1);
});

test('rejected suggestions stay rejected until a user undoes it, or another job suggests anew', async () => {
  await using world = await setUp();
  const { suggestions, datasetId, start, predictWith, listed } = world;
  const predict = () => ({ suggestions: [{ label: 'a', score: 0.9 }], scores: { a: 0.9 } });
  await start({ unlabeledOnly: true });
  const { lines } = await predictWith(predict);
  const [first] = await listed(lines);
  const [one] = first?.suggestions ?? [];
  assert.ok(first && one);
  const reject = (undo: boolean, ids = [one.id]) =>
    suggestions.rejectSuggestions({ datasetId, binaryDataId: first.binaryDataId, suggestionIds: ids, undo });
  const rejected = async () =>
    (await listed(lines)).flatMap((image) => image.suggestions.map((suggestion) => suggestion.rejected));
  await reject(false);
  await reject(false, [one.id, randomUUID()]);
  assert.deepEqual(await rejected(), [true, false, false, false]);
  await reject(true);
  assert.deepEqual(await rejected(), [false, false, false, false]);
  await reject(false);
  await start({ unlabeledOnly: true });
  await predictWith(predict);
  assert.deepEqual(await rejected(), [false, false, false, false]);
  assert.equal(await outcome(reject(false, ['x'])), '3 INVALID_ARGUMENT');
  const many = Array.from({ length: 501 }, () => one.id);
  await assert.rejects(reject(false, many), /suggestion_ids is not valid: 501 IDs; at most 500/);
});

test('doubtful labels come with what the model says, and near copies with different labels first', async () => {
  await using world = await setUp({ a: 10, b: 11 });
  const { server, suggestions, datasetId, start, predictWith } = world;
  await start();
  const labelOf = (line: DatasetLine): string => line.classification_annotations[0]?.annotation_label ?? '';
  const { lines } = await predictWith((line, place) => {
    const own = labelOf(line);
    const [sure, other] = place === 3 ? [own === 'a' ? 'b' : 'a', own] : [own, own === 'a' ? 'b' : 'a'];
    return {
      suggestions: [{ label: sure, score: 0.95 }],
      scores: { [sure]: 0.95, [other]: 0.02 },
      ...(place < 2 ? { copy_group: 0 } : {}),
      ...(own === 'b' && place > 3 ? { copy_group: 1 } : {}),
    };
  });
  const doubted = lines[3];
  assert.ok(doubted);
  const review = await suggestions.reviewLabels({ datasetId });
  assert.deepEqual(
    review.doubtful.map((one) => [one.binaryDataId, one.label, one.predicted, one.predictedScore, one.labelScore]),
    [[doubted.binary_data_id, labelOf(doubted), labelOf(doubted) === 'a' ? 'b' : 'a', 0.95, 0.02]],
  );
  const [first, second] = review.nearCopies.map(({ labelsDiffer, images }) => [labelsDiffer, images.length]);
  const pair = lines.slice(0, 2).map(labelOf);
  const copies = lines.filter((line, place) => labelOf(line) === 'b' && place > 3).length;
  if (pair[0] === pair[1])
    assert.deepEqual(
      [
        [false, 2],
        [false, copies],
      ].toSorted(),
      [first, second].toSorted(),
    );
  else
    assert.deepEqual(
      [first, second],
      [
        [true, 2],
        [false, copies],
      ],
    );
  const id = doubted.binary_data_id ?? '';
  const data = server.client(DataService, 'owner');
  await data.addTagsToBinaryDataByIDs({
    binaryDataIds: [id],
    tags: [labelOf(doubted) === 'a' ? 'b' : 'a'],
    removeLabels: [labelOf(doubted)],
  });
  assert.deepEqual((await suggestions.reviewLabels({ datasetId })).doubtful, [], 'the doubt ends with the label');
});

test('models that cannot suggest are refused with the reason', async () => {
  await using world = await setUp();
  const { server, training, suggestions, datasetId, organizationId, start } = world;
  const trained = async (modelName: string, files: Record<string, string>) => {
    await training.submitTrainingJob(submission(server, datasetId, { modelName }));
    await completed(server, 'single_label_classification', files);
    return outcome(start({ modelName }));
  };
  assert.equal(await trained('bare', { 'bare.tflite': 'x', 'labels.txt': 'a\n' }), '9 MODEL_CANNOT_SUGGEST');
  assert.equal(await outcome(start({ modelName: 'absent' })), '5 PACKAGE_NOT_FOUND');
  assert.equal(await outcome(start({ modelVersion: '9' })), '5 PACKAGE_NOT_FOUND');
  assert.equal(await outcome(start({ datasetId: randomUUID() })), '5 DATASET_NOT_FOUND');
  await server.db
    .updateTable('registryVersion')
    .set({ scriptId: 'own:train', scriptVersion: '1' })
    .where('name', '=', 'bare')
    .execute();
  await assert.rejects(start({ modelName: 'bare' }), /the training script own:train made it/);
  await server.db
    .updateTable('registryVersion')
    .set({ scriptId: null, jobId: null })
    .where('name', '=', 'bare')
    .execute();
  await assert.rejects(start({ modelName: 'bare' }), /it was uploaded/);
  const { id: empty } = await server.client(DatasetService, 'owner').createDataset({ name: 'empty', organizationId });
  assert.equal(await outcome(start({ datasetId: empty })), '9 NOTHING_TO_PREDICT');
  const foreign = server.client(SuggestionService, 'foreignOwner');
  assert.equal(
    await outcome(foreign.startPrediction({ organizationId, datasetId, modelName: 'm', modelVersion: '1' })),
    '5 ORGANIZATION_NOT_FOUND',
  );
  assert.equal(await outcome(foreign.reviewLabels({ datasetId })), '5 DATASET_NOT_FOUND');
  assert.equal(
    await outcome(
      server
        .client(SuggestionService, 'operator')
        .startPrediction({ organizationId, datasetId, modelName: 'm', modelVersion: '1' }),
    ),
    '7 NOT_OWNER',
  );
  assert.equal(
    await outcome(suggestions.listSuggestions({ datasetId, binaryDataIds: ['x'] })),
    '5 BINARY_DATA_NOT_FOUND',
  );
});

test('a runner that sends no valid predictions gets the line and the reason, and nothing is stored', async () => {
  await using world = await setUp();
  const { server, runner, start, lease, listed } = world;
  await start();
  const { job, lines } = await lease();
  const id = lines[0]?.binary_data_id ?? '';
  const send = async (path: string, text: string) => {
    const file = { path, ...(await server.putBlob(Buffer.from(text))) };
    return outcome(runner.completeJob({ jobId: job.id, attempt: job.attempt, runnerId: 'r1', files: [file] }));
  };
  const line = (more: object) => JSON.stringify({ binary_data_id: id, suggestions: [], scores: {}, ...more });
  for (const [path, text] of [
    ['model.onnx', 'x'],
    ['predictions.jsonl', 'no json'],
    ['predictions.jsonl', line({ scores: { a: 2 } })],
    ['predictions.jsonl', line({ suggestions: [{ label: 'a', score: 0.5, box: [0.5, 0, 0.5, 1] }] })],
    ['predictions.jsonl', line({ suggestions: Array.from({ length: 101 }, () => ({ label: 'a', score: 0.5 })) })],
    ['predictions.jsonl', line({ binary_data_id: `${randomUUID()}/x/${randomUUID()}` })],
  ] as const)
    assert.equal(await send(path, text), '3 INVALID_ARGUMENT', text);
  assert.deepEqual(await listed(lines), []);
  assert.equal(await send('predictions.jsonl', line({})), 'ok');
  assert.equal(await send('predictions.jsonl', line({})), 'ok', 'repeated');
  assert.equal((await listed(lines)).length, 1);
});
