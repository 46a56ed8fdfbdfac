import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { DatasetService, DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import {
  MLTrainingService,
  ModelFramework,
  ModelType,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { datasetOf, type Submit, submission } from './training-data.ts';
import { outcome, trainingServer, type Who } from './training-server.ts';

test('what a submit refuses, and that it then claims nothing', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const few = await datasetOf(server, { a: 10, b: 9 }, 'few');
  const empty = await datasetOf(server, {}, 'empty');
  const loose = await datasetOf(server, { a: 10, b: 10, '': 6 }, 'loose');
  const both = await datasetOf(server, { 'a+b': 20 }, 'both');
  const twoGroups = await datasetOf(
    server,
    { 'a+group:1': 5, 'a+group:2': 5, 'b+group:3': 5, 'b+group:4': 5 },
    'groups',
  );
  const allTested = await datasetOf(server, { a: 10, 'b+split:test': 10 }, 'tested');
  const sequences = (
    await server
      .client(DatasetService, 'owner')
      .createDataset({ name: 's', organizationId: server.own.orgId, type: DatasetType.SEQUENCE_DATA })
  ).id;
  const rows: [name: string, more: Partial<Submit>, expected: string, who?: Who][] = [
    ['no organization', { organizationId: '' }, '3 INVALID_ARGUMENT'],
    ['no dataset', { datasetId: '' }, '3 INVALID_ARGUMENT'],
    ['no model name', { modelName: '' }, '3 INVALID_ARGUMENT'],
    ['a model name that is not a file name', { modelName: '../m' }, '3 INVALID_ARGUMENT'],
    ['no version', { modelVersion: '' }, '3 INVALID_ARGUMENT'],
    ['the version latest', { modelVersion: 'latest' }, '3 INVALID_ARGUMENT'],
    ['no type', { modelType: ModelType.UNSPECIFIED }, '3 INVALID_ARGUMENT'],
    ['a type that we do not know', { modelType: 9 as ModelType }, '3 INVALID_ARGUMENT'],
    ['a detector without boxes', { modelType: ModelType.OBJECT_DETECTION }, '9 DATASET_EMPTY'],
    ['a framework not made', { modelFramework: ModelFramework.PYTORCH }, '3 FRAMEWORK_NOT_SUPPORTED'],
    ['another', { modelFramework: ModelFramework.TENSORFLOW }, '3 FRAMEWORK_NOT_SUPPORTED'],
    ['a framework that we do not know', { modelFramework: 9 as ModelFramework }, '3 FRAMEWORK_NOT_SUPPORTED'],
    ['the class of the unlabelled as a label', { tags: ['a', 'b', 'VIAM_UNKNOWN'] }, '3 INVALID_ARGUMENT'],
    ['an empty label', { tags: ['a', ''] }, '3 INVALID_ARGUMENT'],
    ['too long a label', { tags: ['a', 'x'.repeat(129)] }, '3 INVALID_ARGUMENT'],
    ['too many labels', { tags: Array.from({ length: 1001 }, (_, n) => `l${n}`) }, '3 INVALID_ARGUMENT'],
    ['too many GPUs', { resources: { gpus: 17 } }, '3 INVALID_ARGUMENT'],
    ['too little memory', { resources: { memoryMib: 1 } }, '3 INVALID_ARGUMENT'],
    ['too much disk', { resources: { diskMib: 2 ** 31 } }, '3 INVALID_ARGUMENT'],
    ['too short', { resources: { timeLimit: { seconds: 1n, nanos: 0 } } }, '3 INVALID_ARGUMENT'],
    ['too long', { resources: { timeLimit: { seconds: 604_801n, nanos: 0 } } }, '3 INVALID_ARGUMENT'],
    ['less than nothing', { resources: { timeLimit: { seconds: -60n, nanos: 0 } } }, '3 INVALID_ARGUMENT'],
    ['an unknown setting', { arguments: { epoch: '1' } }, '3 INVALID_ARGUMENT'],
    ['a setting out of its limits', { arguments: { epochs: '0' } }, '3 INVALID_ARGUMENT'],
    ['a foreign organization', { organizationId: server.foreign.orgId }, '5 ORGANIZATION_NOT_FOUND'],
    ['an organization that is not an ID', { organizationId: 'x' }, '5 ORGANIZATION_NOT_FOUND'],
    ['an unknown dataset', { datasetId: randomUUID() }, '5 DATASET_NOT_FOUND'],
    ['a dataset that is not an ID', { datasetId: 'x' }, '5 DATASET_NOT_FOUND'],
    ['one label', { tags: ['a'] }, '9 TOO_FEW_LABELS'],
    ['labels that nothing carries', { tags: ['x', 'y'] }, '9 DATASET_EMPTY'],
    ['an empty dataset', { datasetId: empty }, '9 DATASET_EMPTY'],
    ['too few of one', { datasetId: few }, '9 TOO_FEW_IMAGES'],
    ['too many without a label', { datasetId: loose }, '9 TOO_MANY_UNLABELED'],
    ['all carry both', { datasetId: both }, '9 LABELS_AMBIGUOUS'],
    ['two groups per label', { datasetId: twoGroups }, '9 NOTHING_HELD_OUT'],
    ['a label that is in the test alone', { datasetId: allTested }, '9 TOO_FEW_IMAGES'],
    ['sequences', { datasetId: sequences }, '9 DATASET_TYPE_MISMATCH'],
    ['an operator', {}, '7 NOT_OWNER', 'operator'],
    ['a runner', {}, '7 NOT_OWNER', 'runner'],
    ['a machine', {}, '7 NOT_OWNER', 'machine'],
    ['a foreign owner', {}, '5 ORGANIZATION_NOT_FOUND', 'foreignOwner'],
    ['everything right', { modelFramework: ModelFramework.ONNX, arguments: { recipe: 'probe' } }, 'ok'],
    ['the same again', {}, '6 MODEL_VERSION_TAKEN'],
    ['another version', { modelVersion: '2024-01-02T03:04:05' }, 'ok'],
    ['several labels per image', { modelVersion: '3', modelType: ModelType.MULTI_LABEL_CLASSIFICATION }, 'ok'],
  ];
  for (const [name, more, expected, who = 'owner'] of rows) {
    const call = server.client(MLTrainingService, who).submitTrainingJob(submission(server, datasetId, more));
    assert.equal(await outcome(call), expected, name);
  }
  const rest = await server.db.selectFrom('modelVersionClaim').select('modelVersion').execute();
  assert.deepEqual(rest.map((row) => row.modelVersion).toSorted(), ['1', '2024-01-02T03:04:05', '3']);
});

test('what a check of the data says is what a submit does, and it claims nothing', async () => {
  await using server = await trainingServer();
  const training = server.client(MLTrainingService, 'owner');
  const plain = await datasetOf(server, { a: 10, b: 10 }, 'plain');
  const twoGroups = await datasetOf(
    server,
    { 'a+group:1': 5, 'a+group:2': 5, 'b+group:3': 5, 'b+group:4': 5 },
    'two groups',
  );
  const oneLabel = await datasetOf(
    server,
    { 'a+group:1': 4, 'a+group:2': 4, 'a+group:3': 4, 'b+group:4': 5, 'b+group:5': 5, c: 10 },
    'one label',
  );
  const oneGroup = await datasetOf(server, { 'a+group:1': 10, b: 10, a: 10 }, 'one group');
  const few = await datasetOf(server, { a: 10, b: 9 }, 'few');
  type Row = [name: string, datasetId: string, tags: string[], groups: string, problem: string, advice: RegExp[]];
  const table: Row[] = [
    ['no groups', plain, ['a', 'b'], '0 of 20', '', []],
    ['a label that no image carries', plain, ['a', 'b', 'x'], '0 of 20', '', [/^No image carries the label "x"/]],
    ['two groups per label', twoGroups, ['a', 'b'], '4 of 0', '9 NOTHING_HELD_OUT', []],
    [
      'a label without test images',
      oneLabel,
      ['a', 'b', 'c'],
      '5 of 10',
      '',
      [/^10 images have no group: tag and are split by image\.$/, /^No image of "b" is in the test/],
    ],
    ['one group', oneGroup, ['a', 'b'], '1 of 20', '', [/^There is one group, .* 20 images have no group: tag/]],
    ['too few images', few, ['a', 'b'], '0 of 19', '9 TOO_FEW_IMAGES', []],
  ];
  for (const [name, datasetId, tags, groups, problem, advice] of table) {
    const request = submission(server, datasetId, { tags, modelName: name.replaceAll(' ', '-') });
    const of = { organizationId: server.own.orgId, modelType: ModelType.SINGLE_LABEL_CLASSIFICATION };
    const found = await training.checkTrainingData({ ...of, datasetId, tags });
    assert.equal(`${found.groups} of ${found.ungroupedImages}`, groups, name);
    const code = found.problem ? `${found.problem.code} ${/^\w+/.exec(found.problem.message)?.[0]}` : '';
    assert.equal(code, problem, name);
    assert.equal(found.advice.length, advice.length, name);
    for (const [i, line] of advice.entries()) assert.match(found.advice[i] ?? '', line, name);
    assert.deepEqual(await server.db.selectFrom('modelVersionClaim').select('modelVersion').execute(), [], name);
    assert.equal(await outcome(training.submitTrainingJob(request)), problem || 'ok', name);
    const rows = server.db.selectFrom('datasetVersion').select('counts').where('datasetId', '=', datasetId);
    const [version] = await rows.execute();
    const splits = { train: found.trainImages, validation: found.validationImages, test: found.testImages };
    const stored = version && (version.counts as { splits?: object }).splits;
    assert.deepEqual(stored, problem ? undefined : splits, name);
    await server.db.deleteFrom('modelVersionClaim').execute();
  }
});

test('fifty submits of one version at once: one job', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const results = await Promise.all(
    Array.from({ length: 50 }, () => outcome(training.submitTrainingJob(submission(server, datasetId)))),
  );
  assert.deepEqual(
    [results.filter((one) => one === 'ok').length, results.filter((one) => one === '6 MODEL_VERSION_TAKEN').length],
    [1, 49],
  );
  const { jobs } = await training.listTrainingJobs({ organizationId: server.own.orgId });
  assert.equal(jobs.length, 1);
  assert.equal(
    (await server.db.selectFrom('datasetVersion').select('id').execute()).length,
    1,
    'the same images are one version',
  );
});

test('the limits of a job are stored, returned and handed to the runner; unset ones have defaults', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const resources = { gpus: 1, timeLimit: { seconds: 90n, nanos: 500_000_000 }, memoryMib: 512 };
  const { id } = await training.submitTrainingJob(submission(server, datasetId, { resources }));
  const { metadata } = await training.getTrainingJob({ id });
  const { gpus, timeLimit, memoryMib, diskMib } = metadata?.resources ?? {};
  assert.deepEqual([gpus, timeLimit?.seconds, memoryMib, diskMib], [1, 91n, 512, 4096]);
  const runner = server.client(RunnerService, 'runner');
  const ask = { runnerId: 'r1', kinds: ['single_label_classification'] };
  assert.equal((await runner.leaseJob(ask)).job, undefined, 'this runner has no GPU');
  const spec = (await runner.leaseJob({ ...ask, gpus: 2 })).job?.spec;
  assert.deepEqual(
    [spec?.['limits'], spec?.['framework']],
    [
      { gpus: 1, wall_seconds: 91, memory_mib: 512, disk_mib: 4096 },
      modelKinds.single_label_classification.frameworks[0],
    ],
  );
});

test('a framework that is not made: the error names those that are', async () => {
  await using server = await trainingServer();
  const call = server
    .client(MLTrainingService, 'owner')
    .submitTrainingJob(submission(server, randomUUID(), { modelFramework: ModelFramework.TENSORFLOW }));
  await assert.rejects(
    call,
    /does not support TENSORFLOW models of type single_label_classification; it supports .*MODEL_FRAMEWORK_ONNX/,
  );
});

test('frameworks: the default, TFLite and ONNX are each returned and handed to the runner', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');
  const rows: [asked: ModelFramework, stored: ModelFramework, spec: string][] = [
    [ModelFramework.UNSPECIFIED, ModelFramework.TFLITE, 'tflite'],
    [ModelFramework.TFLITE, ModelFramework.TFLITE, 'tflite'],
    [ModelFramework.ONNX, ModelFramework.ONNX, 'onnx'],
  ];
  const types = [ModelType.SINGLE_LABEL_CLASSIFICATION, ModelType.MULTI_LABEL_CLASSIFICATION];
  for (const modelType of types) {
    for (const [modelFramework, stored, spec] of rows) {
      const modelVersion = `${modelType}-${modelFramework}`;
      const { id } = await training.submitTrainingJob(
        submission(server, datasetId, { modelVersion, modelType, modelFramework }),
      );
      assert.equal((await training.getTrainingJob({ id })).metadata?.modelFramework, stored);
      const kinds = ['single_label_classification', 'multi_label_classification'];
      const { job } = await runner.leaseJob({ runnerId: modelVersion, kinds });
      assert.deepEqual([job?.id, job?.spec?.['framework']], [id, spec]);
    }
  }
});
