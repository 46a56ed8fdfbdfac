import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { crc32c, formatChecksum } from '@platform/sandbox/package-checksum';
import tar from 'tar-stream';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import {
  MLTrainingService,
  ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { parseDatasetLine, parseJobSpec } from '@platform/contract/job/job';
import { smallPng } from '@platform/kit/testing';
import { readBlob } from '../src/blobs/blob-store.ts';
import { dataServiceFor } from './captured-uploads.ts';
import { trainingServer } from './training-server.ts';

const seconds = (n: number) => ({ seconds: BigInt(n), nanos: 0 });

test('upload → dataset → submit → lease → report → complete → download', async () => {
  await using server = await trainingServer();
  const { own } = server;
  const datasets = server.client(DatasetService, 'owner');
  const sync = server.client(DataSyncService, 'machine');
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');

  const { id: datasetId } = await datasets.createDataset({ name: 'cups', organizationId: own.orgId });
  const packages = [{ name: 'cups', package: `${own.orgId}/cups`, type: 'ml_model', version: 'latest' }];
  await server.configure({ ...dataServiceFor(datasetId), packages });
  const data = server.client(DataService, 'owner');
  /** The machine captures an image, and its owner labels it. */
  const upload = async (n: number, labels: string[]) => {
    const answer = await sync.dataCaptureUpload({
      metadata: {
        partId: own.partId,
        componentName: 'camera',
        type: DataType.BINARY_SENSOR,
        fileExtension: '.jpg',
        tags: ['line-3'],
        datasetIds: [datasetId],
      },
      sensorContents: [{ data: { case: 'binary', value: smallPng(`${n}`) } }],
    });
    await data.addTagsToBinaryDataByIDs({ binaryDataIds: [answer.binaryDataId], tags: labels });
    return answer;
  };
  for (let n = 0; n < 24; n++) {
    const { binaryDataId } = await upload(n, [n % 2 ? 'cup' : 'mug', ...(n < 4 ? ['split:test'] : [])]);
    assert.match(binaryDataId, new RegExp(`^${own.orgId}/${own.locationId}/[0-9a-f-]{36}$`));
  }

  const { id } = await training.submitTrainingJob({
    organizationId: own.orgId,
    datasetId,
    modelName: 'cups',
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['cup', 'mug'],
    arguments: { recipe: 'probe' },
  });
  const pending = (await training.getTrainingJob({ id })).metadata;
  assert.deepEqual(
    [pending?.status, pending?.queuePosition, pending?.tags],
    [TrainingStatus.PENDING, 1, ['cup', 'mug']],
  );

  await upload(99, ['cup']); // after the submit: not part of the training data

  const { job } = await runner.leaseJob({ runnerId: 'r1', kinds: ['single_label_classification'], wait: seconds(5) });
  assert.ok(job?.leaseUntil && job.deadline);
  const spec = parseJobSpec(job.spec);
  assert.deepEqual([spec.id, spec.attempt, spec.recipe, spec.labels], [id, 1, 'probe', ['cup', 'mug']]);
  const manifest = (await readBlob(server.blobs, job.manifestSha256)).toString().trimEnd().split('\n');
  const lines = manifest.map((line) => parseDatasetLine(JSON.parse(line)));
  assert.equal(lines.length, 24);
  assert.equal(lines.filter((line) => line.split === 'test').length, 4);
  assert.deepEqual(
    new Set(lines.map((line) => line.classification_annotations.map((one) => one.annotation_label).join())),
    new Set(['cup', 'mug']),
    'a tag that a machine sets on its captures is not a label',
  );
  const first = lines[0];
  assert.ok(first);
  assert.equal(
    createHash('sha256')
      .update(await readBlob(server.blobs, first.sha256))
      .digest('hex'),
    first.sha256,
  );
  assert.equal((await server.get(`/data/${first.binary_data_id}`, 'operator')).status, 200);

  const report = { jobId: id, attempt: 1, runnerId: 'r1', phase: 'training', progress: 0.5, eta: seconds(9) };
  const logs = [
    { sequence: 1n, level: 'info', message: 'epoch 1' },
    { sequence: 2n, level: 'warn', message: 'a\0b' },
  ];
  const metrics = [{ sequence: 1n, values: { epoch: 1, validation_accuracy: 0.75 } }];
  for (let again = 0; again < 2; again++) {
    const answer = await runner.reportJob({ ...report, logs, metrics });
    assert.equal(answer.stop, false);
  }
  const running = (await training.getTrainingJob({ id })).metadata;
  assert.deepEqual(
    [
      running?.status,
      running?.progress,
      running?.phase,
      running?.eta?.seconds,
      running?.metrics.map(({ values }) => values),
    ],
    [TrainingStatus.IN_PROGRESS, 0.5, 'training', 9n, [{ epoch: 1, validation_accuracy: 0.75 }]],
  );

  const model = await server.putBlob(Buffer.from('onnx bytes'));
  const labels = await server.putBlob(Buffer.from('cup\nmug'));
  const done = {
    jobId: id,
    attempt: 1,
    runnerId: 'r1',
    files: [
      { path: 'labels.txt', ...labels },
      { path: 'cups.onnx', ...model },
    ],
    evaluation: { accuracy: 0.9, count: 4 },
  };
  assert.equal((await runner.completeJob(done)).modelId, `${own.orgId}/cups`);
  assert.equal((await runner.completeJob(done)).modelId, `${own.orgId}/cups`, 'the same call again answers the same');
  const completed = (await training.getTrainingJob({ id })).metadata;
  assert.deepEqual(
    [completed?.status, completed?.progress, completed?.syncedModelId, completed?.evaluation],
    [TrainingStatus.COMPLETED, 1, `${own.orgId}/cups`, { accuracy: 0.9, count: 4 }],
  );
  assert.ok(completed?.trainingStarted && completed.trainingEnded);
  assert.equal((await server.db.selectFrom('registryVersion').select('version').execute()).length, 1);

  const logPage = await training.getTrainingJobLogs({ id });
  assert.deepEqual(
    logPage.logs.map((line) => line.message),
    ['epoch 1', 'a\uFFFDb'],
  );
  assert.notEqual(logPage.nextPageToken, '');
  assert.deepEqual(await training.getTrainingJobLogs({ id, pageToken: logPage.nextPageToken }), {
    $typeName: 'platform.app.mltraining.v1.GetTrainingJobLogsResponse',
    logs: [],
    nextPageToken: '',
  });

  const registry = server.client(PackageService, 'machine');
  const found = (await registry.getPackage({ id: `${own.orgId}/cups`, version: 'latest', includeUrl: true })).package;
  assert.ok(found);
  assert.deepEqual([found.info?.version, found.info?.type], ['1', PackageType.ML_MODEL]);
  const lineage = found.info?.metadata?.['lineage'] as Record<string, string>;
  assert.deepEqual([lineage['job_id'], lineage['dataset_id'], lineage['script_id']], [id, datasetId, undefined]);
  assert.ok(found.url.startsWith(server.url), found.url);
  const path = found.url.slice(server.url.length);
  const head = await server.get(path, 'machine', {}, 'HEAD');
  assert.deepEqual(
    [head.status, head.headers.get('content-type'), head.headers.get('accept-ranges')],
    [200, 'application/x-gzip', 'bytes'],
  );
  const bytes = Buffer.from(await (await server.get(path, 'machine')).arrayBuffer());
  assert.equal(Number(head.headers.get('content-length')), bytes.length);
  assert.equal(createHash('sha256').update(bytes).digest('hex'), found.checksum);
  assert.equal(head.headers.get('x-goog-hash'), formatChecksum(crc32c(bytes)));
  const rest = await server.get(path, 'machine', { range: 'bytes=10-' });
  assert.equal(rest.status, 206);
  assert.deepEqual(Buffer.from(await rest.arrayBuffer()), bytes.subarray(10));
  assert.deepEqual(await unpacked(bytes), { 'cups.onnx': 'onnx bytes', 'labels.txt': 'cup\nmug' });
  assert.equal((await server.get(path, 'foreignOwner')).status, 404);

  const events = await server.db
    .selectFrom('trainingEvent')
    .select(['event', 'fromState', 'toState'])
    .orderBy('id')
    .execute();
  assert.deepEqual(
    events.map(({ event, fromState, toState }) => `${event}: ${fromState ?? ''} > ${toState}`),
    ['submitted:  > pending', 'leased: pending > in_progress', 'completed: in_progress > completed'],
  );
});

async function unpacked(archive: Uint8Array): Promise<Record<string, string>> {
  const extract = tar.extract();
  extract.end(gunzipSync(archive));
  const files: Record<string, string> = {};
  for await (const entry of extract) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    files[entry.header.name] = Buffer.concat(chunks).toString();
  }
  return files;
}
