import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createPlatformClient, ModelType, PlatformApiError, TrainingStatus } from '@platform/client';
import { smallPng } from '@platform/kit/testing';
import tar from 'tar-stream';
import { clientOf, startCloud } from '../src/cloud-process.ts';

async function scriptArchive(): Promise<Uint8Array<ArrayBuffer>> {
  const pack = tar.pack();
  for (const name of ['setup.py', 'model/__init__.py', 'model/training.py']) pack.entry({ name }, '# nothing');
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack) chunks.push(chunk as Buffer);
  return new Uint8Array(gzipSync(Buffer.concat(chunks)));
}

/** Cuts the body of the first answers to a download, each after its number of bytes. */
function cutting(cuts: number[]): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const cut = String(input).includes('/packages/') && init?.method === undefined ? cuts.shift() : undefined;
    if (cut === undefined || !response.body) return response;
    let left = cut;
    const broken = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, to) {
          to.enqueue(chunk.subarray(0, left));
          left -= chunk.length;
          if (left <= 0) to.error(new TypeError('terminated'));
        },
      }),
    );
    return new Response(broken, response);
  };
}

test('the TypeScript client: images, boxes, scripts, jobs with resources, followed logs, models', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const orgId = ready.org_id;
  const {
    mlTrainingClient: training,
    dataClient: data,
    datasetClient: datasets,
    trainingScriptClient: scripts,
  } = client;

  const { credentialsJson } = await client.fleetClient.createMachine({ organizationId: orgId, name: 'camera' });
  const { cloud: part } = JSON.parse(credentialsJson) as { cloud: { id: string } };
  const datasetId = await datasets.createDataset('things', orgId);
  const box = { label: 'cup', xMin: 0.1, yMin: 0.1, xMax: 0.6, yMax: 0.7 };
  const ids = await data.uploadImages(
    Array.from({ length: 15 }, (_, n) => ({ bytes: smallPng(`thing ${n}`), fileExtension: 'png', boxes: [box] })),
    { partId: part.id, datasetIds: [datasetId] },
  );
  const [first = ''] = ids;
  await data.addTagsToBinaryDataByIds(['split:test', 'grün ☂'], [first]);
  assert.deepEqual(await data.tagsByFilter({ datasetId }), ['grün ☂', 'split:test']);
  const boxId = await data.addBoundingBoxToImageById(first, { ...box, label: 'pen' });
  await data.updateBoundingBox(first, boxId, { label: 'mug' });
  assert.deepEqual(await data.boundingBoxLabelsByFilter({ datasetId }), ['cup', 'mug']);
  await data.removeBoundingBoxFromImageById(first, boxId);
  await data.removeBinaryDataFromDatasetByIds([first], datasetId);
  assert.equal((await data.countBinaryData({ datasetId })).count, 14);
  await data.addBinaryDataToDatasetByIds([first, first], datasetId);
  await datasets.renameDataset(datasetId, 'all things');
  const merged = await datasets.mergeDatasets([datasetId], 'merged', orgId);
  assert.equal((await data.countBinaryData({ datasetId: merged })).count, 15);
  await datasets.deleteDataset(merged);
  assert.deepEqual(
    (await datasets.listDatasetsByOrganizationId(orgId)).map(({ name }) => name),
    ['all things'],
  );

  const { mlTrainingClient: never } = client;
  await assert.rejects(
    never.submitCustomTrainingJob(orgId, datasetId, `${orgId}:script`, 'latest', 'made', '1'),
    (error) => error instanceof PlatformApiError && error.code === 'SCRIPT_NOT_FOUND' && error.remedy !== '',
  );
  const archive = await scriptArchive();
  const version = await scripts.uploadTrainingScript(orgId, 'script', archive, {
    modelType: ModelType.OBJECT_DETECTION,
  });
  assert.deepEqual(
    (await scripts.listTrainingScripts(orgId)).map(({ name }) => name),
    ['script'],
  );
  assert.deepEqual(
    (await scripts.listTrainingScriptVersions(orgId, 'script')).map((one) => one.version),
    [version],
  );

  const runner = createPlatformClient({
    baseUrl: ready.url,
    credentials: { type: 'api-key', authEntity: ready.runner_key_id, payload: ready.runner_key },
  });
  const offer = {
    runnerId: 'r1',
    kinds: ['object_detection', 'custom'],
    gpus: 1,
    containers: [{ key: 'py:3.11', framework: 'python' }],
  };
  await runner.runnerClient.leaseJob(offer);
  assert.deepEqual(
    (await training.listSupportedContainers()).map(({ key }) => key),
    ['py:3.11'],
  );
  const resources = { gpus: 1, timeLimitSeconds: 600, memoryMib: 1024 };
  const jobId = await training.submitTrainingJob(orgId, datasetId, 'made', '1', ModelType.OBJECT_DETECTION, ['cup'], {
    resources,
  });
  const customId = await training.submitCustomTrainingJob(
    orgId,
    datasetId,
    `${orgId}:script`,
    'latest',
    'made',
    '2',
    { epochs: '3' },
    { containerVersion: 'py:3.11', resources: { diskMib: 512 } },
  );
  const custom = await training.getTrainingJob(customId);
  assert.deepEqual(
    [custom.registryItemVersion, custom.containerVersion, custom.modelType, custom.resources?.diskMib],
    [version, 'py:3.11', ModelType.OBJECT_DETECTION, 512],
  );
  const pages: string[][] = [];
  for await (const page of training.pagesOfTrainingJobs(orgId, { pageSize: 1 })) pages.push(page.map(({ id }) => id));
  assert.deepEqual(pages, [[customId], [jobId]]);
  assert.deepEqual(
    (await training.listTrainingJobs(orgId, TrainingStatus.PENDING)).map(({ id }) => id),
    [customId, jobId],
  );

  const followed = (async () => {
    const lines: string[] = [];
    for await (const { message } of training.followTrainingJobLogs(jobId)) lines.push(message);
    return lines;
  })();
  const { job } = await runner.runnerClient.leaseJob(offer);
  assert.equal(job?.id, jobId);
  const attempt = { jobId, attempt: 1, runnerId: 'r1' };
  for (let n = 1; n <= 3; n++) {
    await runner.runnerClient.reportJob({
      ...attempt,
      logs: [{ sequence: BigInt(n), level: 'info', message: `line ${n}` }],
    });
  }
  const model = randomBytes(3_000_000);
  const sha256 = createHash('sha256').update(model).digest('hex');
  await runner.request(`/blobs/${sha256}`, { method: 'PUT', body: model });
  const files = [{ path: 'made.onnx', sha256, sizeBytes: BigInt(model.length) }];
  await runner.runnerClient.completeJob({ ...attempt, files, evaluation: { map50: 0.75 } });
  assert.deepEqual(await followed, ['line 1', 'line 2', 'line 3']);
  const done = await training.waitForTrainingJob(jobId);
  assert.deepEqual([done.status, done.score?.name, done.score?.value], [TrainingStatus.COMPLETED, 'map50', 0.75]);

  await training.cancelTrainingJob(customId);
  await training.deleteCompletedTrainingJob(customId);
  await assert.rejects(training.getTrainingJob(customId), { code: 'TRAINING_JOB_NOT_FOUND' });

  const { modelClient: models } = clientOf(ready, { fetch: cutting([100_000, 1_000_000, 0]) });
  assert.deepEqual(
    (await models.listModels(orgId)).map(({ name }) => name),
    ['made'],
  );
  const found = await models.getModelVersion(orgId, 'made');
  assert.deepEqual(
    [found.version, found.files, (found.metadata['lineage'] as { job_id: string }).job_id],
    ['1', [{ path: 'made.onnx', sizeBytes: model.length }], jobId],
  );
  const seen: number[] = [];
  const bytes = await models.downloadModelBytes(orgId, 'made', 'latest', { onProgress: (size) => seen.push(size) });
  assert.equal(
    createHash('sha256').update(bytes).digest('hex'),
    found.sha256,
    'whole in spite of three broken connections',
  );
  assert.equal(seen.at(-1), bytes.length);
  await models.deleteModelVersion(orgId, 'made', '1');
  await assert.rejects(models.getModelVersion(orgId, 'made'), { code: 'PACKAGE_NOT_FOUND' });
});
