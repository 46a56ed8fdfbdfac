// The stored bytes of an organization are counted and shown; its limit holds for every upload path, also with
// concurrent uploads.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import test from 'node:test';
import { type Client, Code, type ConnectError } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { systemClock } from '@platform/kit/node';
import { testServer, type TestServer } from './server.ts';
import { datasetOf, submission } from './training-data.ts';
import { outcome, trainingServer } from './training-server.ts';

const kib = 1024;
/** 1 MiB. */
const limited = ['--org-limit-gib', String(1 / kib)];
const limitBytes = kib * kib;
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function usageOf(on: TestServer) {
  const answer = await (await on.client(FleetService)).getUsage({ organizationId: on.orgId });
  const { usedBytes, files, waitingBytes, arrivingBytes } = answer;
  return {
    used: Number(usedBytes),
    files: Number(files),
    waiting: Number(waitingBytes),
    arriving: Number(arrivingBytes),
  };
}

/** Adds one image to a new dataset. @returns its id. */
async function images(datasets: Client<typeof DatasetService>, sync: Client<typeof DataSyncService>, orgId: string) {
  const { id: datasetId } = await datasets.createDataset({ organizationId: orgId, name: 'parts' });
  return (bytes: Uint8Array): Promise<string> =>
    sync
      .dataCaptureUpload({
        metadata: { type: DataType.BINARY_SENSOR, fileExtension: '.bin', datasetIds: [datasetId] },
        sensorContents: [{ data: { case: 'binary', value: bytes } }],
      })
      .then(({ binaryDataId }) => binaryDataId);
}

type Put = { status: number; code: string };
/** PUT of a file in chunks, or with a content length; `between` runs after the first chunk. */
async function put(
  on: TestServer,
  bytes: Buffer,
  {
    isAnnounced = false,
    between = () => Promise.resolve(),
  }: { isAnnounced?: boolean; between?: () => Promise<void> } = {},
): Promise<Put> {
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const headers = { authorization, ...(isAnnounced && { 'content-length': bytes.length }) };
  const answer = Promise.withResolvers<Put>();
  const sending = request(`${on.url}/blobs/${hashOf(bytes)}`, { method: 'PUT', headers }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('end', () => {
      const { code = '' } = JSON.parse(Buffer.concat(parts).toString()) as { code?: string };
      answer.resolve({ status: response.statusCode ?? 0, code });
    });
  });
  sending.on('error', answer.reject);
  sending.write(bytes.subarray(0, kib));
  await between();
  sending.end(bytes.subarray(kib));
  return answer.promise;
}

test('full: refused with what, limit and remedy; a deletion makes room at once, until a limit of deleted files waits', async () => {
  await using on = await testServer(limited);
  const upload = await images(await on.client(DatasetService), await on.client(DataSyncService), on.orgId);
  const data = await on.client(DataService);
  const ids: string[] = [];
  for (let n = 0; n < 2; n++) ids.push(await upload(randomBytes(400 * kib)));
  assert.deepEqual(await usageOf(on), { used: 800 * kib, files: 2, waiting: 0, arriving: 0 });

  await assert.rejects(upload(randomBytes(300 * kib)), ({ code, rawMessage }: ConnectError) => {
    assert.equal(code, Code.ResourceExhausted);
    assert.match(rawMessage, /^ORGANIZATION_FULL: /);
    assert.ok(
      rawMessage.includes(`cannot store ${300 * kib} more bytes: ${800 * kib} of ${limitBytes} bytes are used`),
    );
    assert.match(rawMessage, /Delete unused images.*--org-limit-gib/);
    return true;
  });
  assert.deepEqual(await usageOf(on), { used: 800 * kib, files: 2, waiting: 0, arriving: 0 });

  const swap = async (): Promise<string> => {
    await data.deleteBinaryDataByIDs({ binaryDataIds: [ids.shift() ?? ''] });
    ids.push(await upload(randomBytes(400 * kib)));
    return 'ok';
  };
  assert.equal(await swap(), 'ok');
  assert.deepEqual(await usageOf(on), { used: 800 * kib, files: 2, waiting: 400 * kib, arriving: 0 });
  assert.equal(await swap(), 'ok');
  assert.equal(await swap(), 'ok');
  // 1,200 KiB await deletion on disk: 400 KiB more of deleted files and 800 KiB of used ones would exceed 2 MiB.
  await assert.rejects(swap(), { message: /ORGANIZATION_FULL: .* 1638400 of deleted files are still on the disk/ });
});

test('every kind of upload: with a declared length, in chunks, as a package', async () => {
  await using on = await testServer(limited);
  const large = randomBytes(limitBytes + 1);
  const full = { status: 413, code: 'ORGANIZATION_FULL' };
  assert.deepEqual(await put(on, large, { isAnnounced: true }), full);
  assert.deepEqual(await put(on, large), full);
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const archive = Buffer.concat([Buffer.from([0x1f, 0x8b]), large]);
  const sent = { method: 'POST', headers: { authorization }, body: archive };
  const packed = await fetch(`${on.url}/packages/${on.orgId}/detector?type=ml_model&version=1`, sent);
  assert.equal(packed.status, 413);
  assert.equal(((await packed.json()) as { code: string }).code, 'ORGANIZATION_FULL');
  assert.deepEqual(
    await usageOf(on),
    { used: 0, files: 0, waiting: 0, arriving: 0 },
    'nothing stays of a refused upload',
  );
  // Exactly the limit; the same bytes again need no room.
  const exact = large.subarray(1);
  assert.deepEqual(await put(on, exact), { status: 201, code: '' });
  assert.deepEqual(await put(on, exact), { status: 200, code: '' });
  assert.deepEqual(await put(on, large.subarray(0, 1)), full);
});

for (const isAnnounced of [true, false]) {
  test(`two uploads at once, ${isAnnounced ? 'with declared lengths' : 'in chunks'}: one of them fits`, async () => {
    await using on = await testServer(limited);
    const [one, two] = [randomBytes(700 * kib), randomBytes(700 * kib)];
    const both = Promise.withResolvers<void>();
    const begun = { count: 0 };
    const between = (): Promise<void> => {
      if (++begun.count === 2) both.resolve();
      return both.promise;
    };
    const answers = await Promise.all([one, two].map((bytes) => put(on, bytes, { isAnnounced, between })));
    assert.ok(answers.some(({ code }) => code === 'ORGANIZATION_FULL'));
    const stored = answers.filter(({ status }) => status === 201).length;
    assert.ok(stored <= 1);
    assert.deepEqual(await usageOf(on), { used: stored * 700 * kib, files: stored, waiting: 0, arriving: 0 });
    // After any outcome, a single upload fits now.
    if (stored === 0) assert.equal((await put(on, one)).status, 201);
  });
}

test('without a limit all is counted and nothing refused; bytes under way are shown', async () => {
  await using on = await testServer();
  await on.machine('press');
  const upload = await images(await on.client(DatasetService), await on.client(DataSyncService), on.orgId);
  await upload(Buffer.from('image'));
  const bytes = randomBytes(3 * kib);
  const seen: number[] = [];
  const between = async (): Promise<void> => {
    for (;;) {
      const { arriving } = await usageOf(on);
      if (arriving === 0) continue;
      seen.push(arriving);
      return;
    }
  };
  await put(on, bytes, { between });
  assert.deepEqual(seen, [kib]);
  const { $typeName, $unknown, ...answer } = await (
    await on.client(FleetService)
  ).getUsage({ organizationId: on.orgId });
  assert.deepEqual([$typeName, $unknown], ['platform.fleet.v1.GetUsageResponse', undefined]);
  const counts = { images: 1n, readings: 0n, datasets: 1n, machines: 1n, jobs: 0n, packageVersions: 0n, logBytes: 0n };
  const sizes = { usedBytes: BigInt(3 * kib + 5), files: 2n, waitingBytes: 0n, arrivingBytes: 0n, limitBytes: 0n };
  assert.deepEqual(answer, { ...sizes, ...counts });
});

test('a full organization starts no training and takes no result; with room, the same result is taken', async () => {
  await using server = await trainingServer(systemClock, limitBytes);
  const { orgId } = server.own;
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');
  const submit = (modelVersion: string) =>
    outcome(training.submitTrainingJob(submission(server, datasetId, { modelVersion })));
  assert.equal(await submit('1'), 'ok');
  const { job } = await runner.leaseJob({ runnerId: 'r1', kinds: ['single_label_classification'] });
  const model = { path: 'm.onnx', ...(await server.putBlob(Buffer.from('model'))) };
  const complete = () =>
    outcome(runner.completeJob({ jobId: job?.id ?? '', attempt: 1, runnerId: 'r1', files: [model] }));

  const upload = await images(server.client(DatasetService, 'owner'), server.client(DataSyncService, 'owner'), orgId);
  const fillers: string[] = [];
  // Fills the limit to the last byte.
  for (let size = limitBytes / 2; size >= 1; size /= 2)
    await upload(randomBytes(size)).then(
      (id) => fillers.push(id),
      () => {},
    );
  assert.equal(await complete(), '8 ORGANIZATION_FULL');
  assert.equal(await submit('2'), '8 ORGANIZATION_FULL');
  await server.client(DataService, 'owner').deleteBinaryDataByIDs({ binaryDataIds: fillers });
  assert.equal(await complete(), 'ok');
  assert.equal(await submit('2'), 'ok');
});
