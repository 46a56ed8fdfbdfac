import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import {
  MLTrainingService,
  ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { seededRandom, smallPng, tempFolder } from '@platform/kit/testing';
import { type CloudProcess, cloudProcess, type ReadyLine } from './process.ts';
import { transportTo } from './server.ts';
import { outcome } from './training-server.ts';

async function started(folder: string) {
  const cloud = cloudProcess(folder);
  const ready = await cloud.ready;
  assert.ok(ready, cloud.stderr());
  const authenticate = async (entity: string, payload: string) =>
    (
      await createClient(AuthService, transportTo(ready.url)).authenticate({
        entity,
        credentials: { type: 'api-key', payload },
      })
    ).accessToken;
  const owner = transportTo(ready.url, await authenticate(ready.api_key_id, ready.api_key));
  const token = await authenticate(ready.runner_key_id, ready.runner_key);
  return { cloud, ready, owner, runner: createClient(RunnerService, transportTo(ready.url, token)), token };
}
async function kill({ child, exit }: CloudProcess): Promise<void> {
  child.kill('SIGKILL');
  await exit;
}

test('kill −9 while images arrive and while a job runs: what was acknowledged is there, whole and once', async () => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const random = seededRandom(11);
  const acknowledged = new Map<string, Buffer>();
  const place = { organizationId: '', partId: '', datasetId: '' };
  let sent = 0;

  for (let round = 0; round < 3; round++) {
    const { cloud, ready, owner } = await started(data);
    if (round === 0) {
      place.organizationId = ready.org_id;
      const { machine } = await createClient(FleetService, owner).createMachine({
        organizationId: ready.org_id,
        name: 'camera',
      });
      place.partId = machine?.partId ?? '';
      place.datasetId = (
        await createClient(DatasetService, owner).createDataset({ organizationId: ready.org_id, name: 'd' })
      ).id;
    }
    const sync = createClient(DataSyncService, owner);
    const enough = acknowledged.size + 16 + Math.floor(random() * 10);
    const upload = async (): Promise<void> => {
      while (acknowledged.size < enough) {
        const n = sent++;
        const more = Buffer.alloc(1000 + Math.floor(random() * 200_000), `image ${n} `);
        const bytes = Buffer.concat([smallPng(`image ${n}`), more]);
        const { binaryDataId } = await sync.dataCaptureUpload({
          metadata: {
            partId: place.partId,
            type: DataType.BINARY_SENSOR,
            fileExtension: '.png',
            tags: [n % 2 ? 'a' : 'b'],
            datasetIds: [place.datasetId],
          },
          sensorContents: [{ data: { case: 'binary', value: bytes } }],
        });
        acknowledged.set(binaryDataId, bytes);
        if (acknowledged.size >= enough) cloud.child.kill('SIGKILL');
      }
    };
    await Promise.allSettled([1, 2, 3, 4].map(upload));
    await cloud.exit;
  }

  const third = await started(data);
  const { binaryDataByIDs, binaryDataByFilter } = createClient(DataService, third.owner);
  for (const [id, bytes] of acknowledged) {
    const [datum] = (await binaryDataByIDs({ binaryDataIds: [id], includeBinary: true })).data;
    assert.ok(bytes.equals(datum?.binary ?? Buffer.alloc(0)), `${id} is whole`);
    assert.deepEqual(datum?.metadata?.datasetIds, [place.datasetId]);
  }
  // An unacknowledged upload may exist or not; if it exists, it is complete.
  const all = (await binaryDataByFilter({ dataRequest: { limit: 1000n } })).data.map(
    ({ metadata }) => metadata?.binaryDataId ?? '',
  );
  assert.ok(all.length >= acknowledged.size && all.length <= sent);
  assert.equal(
    (await binaryDataByIDs({ binaryDataIds: all, includeBinary: true })).data.every(({ binary }) => binary.length > 0),
    true,
  );

  const submission = {
    organizationId: place.organizationId,
    datasetId: place.datasetId,
    modelName: 'm',
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['a', 'b'],
  };
  const { id } = await createClient(MLTrainingService, third.owner).submitTrainingJob(submission);
  const { job } = await third.runner.leaseJob({ runnerId: 'r1', kinds: ['single_label_classification'] });
  assert.equal(job?.id, id);
  await third.runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1', progress: 0.5 });
  await kill(third.cloud);

  const fourth = await started(data);
  assert.equal(
    await outcome(createClient(MLTrainingService, fourth.owner).submitTrainingJob(submission)),
    '6 MODEL_VERSION_TAKEN',
  );
  await fourth.runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1', progress: 0.9 });
  const model = Buffer.from('onnx');
  const done = { jobId: id, attempt: 1, runnerId: 'r1', files: [await put(fourth.ready, fourth.token, model)] };
  const unanswered = outcome(fourth.runner.completeJob(done));
  await kill(fourth.cloud);
  await unanswered;

  const fifth = await started(data);
  assert.equal(await outcome(fifth.runner.completeJob(done)), 'ok', 'the runner repeats what was not answered');
  assert.equal(
    (await createClient(MLTrainingService, fifth.owner).getTrainingJob({ id })).metadata?.status,
    TrainingStatus.COMPLETED,
  );
  const { packages } = await createClient(PackageService, fifth.owner).listPackages({
    organizationId: place.organizationId,
  });
  assert.deepEqual(
    packages.map((one) => one.info?.version),
    ['1'],
  );
  fifth.cloud.child.kill('SIGTERM');
  assert.equal(await fifth.cloud.exit, 0);
});

async function put(ready: ReadyLine, token: string, bytes: Buffer) {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const answer = await fetch(`${ready.url}/blobs/${sha256}`, {
    method: 'PUT',
    body: new Uint8Array(bytes),
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 201);
  return { path: 'm.onnx', sha256, sizeBytes: BigInt(bytes.length) };
}
