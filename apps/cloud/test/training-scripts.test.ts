import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import {
  MLTrainingService,
  ModelFramework,
  ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { type Job, RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { parseDatasetLine, parseJobSpec } from '@platform/contract/job/job';
import { attemptCalls, scriptCalls } from '../src/access/rules/scopes.ts';
import { smallPng } from '@platform/kit/testing';
import { insertKey } from '../src/access/store/keys.ts';
import { callAs, requestFor, services } from './every-call.ts';
import { failure } from './failure.ts';
import { archiveOf, scriptEntries } from './script-archive.ts';
import { bearer, type Credentials, testServer, type TestServer } from './server.ts';

const offer = {
  runnerId: 'r1',
  kinds: ['custom', 'object_detection'],
  host: 'lab',
  version: '0.1.0',
  containers: [
    { key: 'py:3.11', uri: 'host:/usr/bin/python3', framework: 'python', eol: { seconds: 1_824_000_000n, nanos: 0 } },
    { key: 'py:3.12', uri: 'host:/opt/python3', framework: 'python' },
  ],
};

/** Creates a dataset with images, one of them with a box, in the first organization. */
async function uploadImages(on: TestServer): Promise<{ datasetId: string; partId: string; dataIds: string[] }> {
  const { partId } = await on.machine('camera');
  const { id: datasetId } = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: on.orgId, name: 'things' });
  const uploads = await on.client(DataSyncService);
  const dataIds: string[] = [];
  for (const tag of ['cup', 'pen', '']) {
    const { binaryDataId } = await uploads.dataCaptureUpload({
      metadata: {
        partId,
        type: 1,
        fileExtension: '.png',
        imagesOnly: true,
        tags: tag ? [tag] : [],
        datasetIds: [datasetId],
      },
      sensorContents: [{ data: { case: 'binary', value: smallPng(`image ${tag}`) }, metadata: {} }],
    });
    dataIds.push(binaryDataId);
  }
  await (
    await on.client(DataService)
  ).addBoundingBoxToImageByID({
    binaryDataId: dataIds[0] ?? '',
    label: 'handle',
    xMinNormalized: 0.1,
    yMinNormalized: 0.2,
    xMaxNormalized: 0.3,
    yMaxNormalized: 0.4,
  });
  return { datasetId, partId, dataIds };
}

async function uploadScript(on: TestServer, version: string, who: { credentials: Credentials; orgId: string }) {
  const transport = createGrpcTransport({ baseUrl: on.url, interceptors: [bearer(await on.token(who.credentials))] });
  const archive = await archiveOf(scriptEntries(`print(${version})`));
  const info = {
    organizationId: who.orgId,
    name: 'script',
    version,
    type: PackageType.ML_TRAINING,
    metadata: { model_type: 'object_detection', model_framework: 'pytorch' },
  };
  await createClient(PackageService, transport).createPackage(
    (async function* () {
      yield { package: { case: 'info' as const, value: info } };
      yield { package: { case: 'contents' as const, value: await Promise.resolve(archive) } };
    })(),
  );
}

async function otherOrganization(on: TestServer): Promise<{ orgId: string; credentials: Credentials }> {
  const orgId = randomUUID();
  await on.db.insertInto('organization').values({ id: orgId, name: 'Others', publicNamespace: 'others' }).execute();
  const grants = [{ role: 'owner' as const, resource: 'organization' as const, resourceId: orgId, orgId }];
  const made = await insertKey(on.db, { orgId, name: 'owner', grants });
  return { orgId, credentials: { type: 'api-key', entity: made.id, payload: made.key } };
}

async function world() {
  const on = await testServer();
  const found = await uploadImages(on);
  const own = { orgId: on.orgId, credentials: on.owner };
  await uploadScript(on, '1', own);
  const training = await on.client(MLTrainingService);
  const runner = await on.client(RunnerService, on.runner);
  const base = {
    organizationId: on.orgId,
    datasetId: found.datasetId,
    registryItemId: `${on.orgId}:script`,
    registryItemVersion: '1',
    modelName: 'm',
    modelVersion: '1',
  };
  /** Submits and leases a job. */
  const started = async (modelVersion = '1'): Promise<Job> => {
    await runner.leaseJob(offer);
    await training.submitCustomTrainingJob({ ...base, modelVersion, arguments: { epochs: '3' } });
    const { job } = await runner.leaseJob(offer);
    assert.ok(job);
    return job;
  };
  return { on, ...found, own, training, runner, base, started, [Symbol.asyncDispose]: () => on[Symbol.asyncDispose]() };
}

test('a script is submitted: what is refused, and why', async () => {
  await using w = await world();
  const { on, training, runner, base } = w;
  const submit = (more: object = {}) => failure(training.submitCustomTrainingJob({ ...base, ...more }));
  assert.equal(await submit(), 'FailedPrecondition SCRIPTS_NOT_OFFERED');
  const because = 'bubblewrap is missing: apt-get install bubblewrap';
  await runner.leaseJob({ ...offer, kinds: ['object_detection'], containers: [], noScriptsBecause: because });
  await assert.rejects(training.submitCustomTrainingJob(base), new RegExp(because));
  assert.deepEqual((await training.listSupportedContainers({})).containerMap, {});
  await runner.leaseJob(offer);

  const others = await otherOrganization(on);
  await uploadScript(on, '7', others);
  const empty = await (await on.client(DatasetService)).createDataset({ organizationId: on.orgId, name: 'empty' });
  const rows: [name: string, more: object, expected: string][] = [
    ['not namespace:name', { registryItemId: 'script' }, 'InvalidArgument INVALID_ARGUMENT'],
    ['two colons', { registryItemId: 'a:b:c' }, 'InvalidArgument INVALID_ARGUMENT'],
    ['no version', { registryItemVersion: '' }, 'InvalidArgument INVALID_ARGUMENT'],
    ['a bad argument key', { arguments: { 'a b': '1' } }, 'InvalidArgument INVALID_ARGUMENT'],
    ['an empty argument key', { arguments: { '': '1' } }, 'InvalidArgument INVALID_ARGUMENT'],
    ['too long an argument', { arguments: { a: 'x'.repeat(4097) } }, 'InvalidArgument INVALID_ARGUMENT'],
    ['an argument with NUL', { arguments: { a: 'x\0' } }, 'InvalidArgument INVALID_ARGUMENT'],
    [
      'too many arguments',
      { arguments: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, ''])) },
      'InvalidArgument INVALID_ARGUMENT',
    ],
    ['an unknown script', { registryItemId: `${on.orgId}:other` }, 'NotFound SCRIPT_NOT_FOUND'],
    ['an unknown version', { registryItemVersion: '2' }, 'NotFound SCRIPT_NOT_FOUND'],
    ['a private script of others', { registryItemId: 'others:script' }, 'NotFound SCRIPT_NOT_FOUND'],
    ['an unknown dataset', { datasetId: randomUUID() }, 'NotFound DATASET_NOT_FOUND'],
    ['a dataset without images', { datasetId: empty.id }, 'FailedPrecondition DATASET_EMPTY'],
    ['a container that no runner offers', { containerVersion: 'tf:2.16' }, 'NotFound CONTAINER_NOT_FOUND'],
    ['too many GPUs', { resources: { gpus: 99 } }, 'InvalidArgument INVALID_ARGUMENT'],
    ['the name of the script for the model', { modelName: 'script', modelVersion: '77' }, 'AlreadyExists NAME_TAKEN'],
    ['all right', { containerVersion: 'py:3.12' }, 'no failure'],
    ['the same version', {}, 'AlreadyExists MODEL_VERSION_TAKEN'],
  ];
  for (const [name, more, expected] of rows) assert.equal(await submit(more), expected, name);
  await assert.rejects(
    training.submitCustomTrainingJob({ ...base, containerVersion: 'tf:2.16' }),
    /"tf:2\.16"; available: py:3\.11, py:3\.12/,
  );

  await assert.rejects(
    (await on.client(AppService)).createRegistryItem({
      organizationId: on.orgId,
      name: 'm',
      type: PackageType.ML_TRAINING,
    }),
    /The name "m" is already in use by another model that is being trained/,
    'the name of a model that is being trained',
  );

  const app = await on.client(AppService, others.credentials);
  await app.updateRegistryItem({
    itemId: 'others:script',
    type: PackageType.ML_TRAINING,
    description: 'x',
    visibility: 2,
  });
  assert.equal(
    await submit({ registryItemId: 'others:script', registryItemVersion: '7', modelVersion: '2' }),
    'no failure',
  );
});

test('a script job shows what it runs; the runner gets script, arguments and every image with all its labels', async () => {
  await using w = await world();
  const { on, training, runner, base, own, dataIds } = w;
  await uploadScript(on, '2', own);
  await runner.leaseJob(offer);
  const { containerMap } = await training.listSupportedContainers({});
  assert.deepEqual(Object.keys(containerMap), ['py:3.11', 'py:3.12']);
  assert.equal(containerMap['py:3.11']?.eol?.seconds, 1_824_000_000n);
  const { id } = await training.submitCustomTrainingJob({
    ...base,
    registryItemVersion: 'latest',
    arguments: { epochs: '3', note: 'größer "x"' },
    containerVersion: 'py:3.12',
  });
  const { metadata } = await training.getTrainingJob({ id });
  assert.deepEqual(
    [metadata?.isCustomJob, metadata?.registryItemId, metadata?.registryItemVersion, metadata?.containerVersion],
    [true, base.registryItemId, '2', 'py:3.12'],
  );
  assert.deepEqual(
    [metadata?.modelType, metadata?.modelFramework, metadata?.tags, metadata?.waitingFor],
    [ModelType.OBJECT_DETECTION, ModelFramework.PYTORCH, [], ''],
  );
  const elsewhere = { ...offer, runnerId: 'r2', containers: offer.containers.slice(0, 1) };
  assert.equal((await runner.leaseJob(elsewhere)).job, undefined, 'another container');
  const { job } = await runner.leaseJob(offer);
  const spec = parseJobSpec(job?.spec);
  assert.deepEqual(
    [spec.kind, spec.arguments, spec.container_version, spec.script?.version, spec.framework],
    ['custom', { epochs: '3', note: 'größer "x"' }, 'py:3.12', '2', undefined],
  );
  const headers = { authorization: `Bearer ${job?.attemptToken}` };
  const script = await fetch(`${on.url}/blobs/${spec.script?.package_sha256}`, { headers });
  assert.deepEqual(Buffer.from(await script.arrayBuffer()), await archiveOf(scriptEntries('print(2)')));
  const manifest = await (await fetch(`${on.url}/blobs/${job?.manifestSha256}`, { headers })).text();
  const lines = manifest
    .trim()
    .split('\n')
    .map((line) => parseDatasetLine(JSON.parse(line)));
  assert.equal(lines.length, 3);
  const cup = lines.find((line) => line.binary_data_id === dataIds[0]);
  assert.deepEqual(cup?.classification_annotations, [{ annotation_label: 'cup' }]);
  assert.deepEqual(
    cup?.bounding_box_annotations.map(({ annotation_label: label, x_min_normalized: x }) => [label, x]),
    [['handle', 0.1]],
  );
  const { runners } = await runner.listRunners({ organizationId: on.orgId }).catch(() => ({ runners: [] }));
  assert.deepEqual(runners, [], 'lists are for users, not for runners');
  const seen = await (await on.client(RunnerService)).listRunners({ organizationId: on.orgId });
  assert.deepEqual(
    seen.runners
      .map(({ runnerId, host, online, jobId, containers }) => [runnerId, host, online, jobId, containers.length])
      .toSorted(),
    [
      ['r1', 'lab', true, id, 2],
      ['r2', 'lab', true, '', 1],
    ],
  );
});

/** Makes every call with existing ids. @returns the calls that were not refused. */
async function allowed(w: Awaited<ReturnType<typeof world>>, token: string, job: Job): Promise<Set<string>> {
  const { on, datasetId, dataIds, partId } = w;
  const transport = createGrpcTransport({ baseUrl: on.url, interceptors: [bearer(token)] });
  const things = {
    orgId: on.orgId,
    locationId: on.server.firstRun.locationId,
    machineId: randomUUID(),
    partId,
    keyId: on.server.firstRun.apiKeyId,
    datasetId,
    dataId: dataIds[0] ?? '',
    jobId: job.id,
    fragmentId: randomUUID(),
    operationId: randomUUID(),
  };
  const found = new Set<string>();
  let calls = 0;
  for (const service of services) {
    for (const method of service.methods) {
      const ids = [job.id, datasetId, on.orgId, partId, on.server.firstRun.apiKeyId];
      for (const id of ids) {
        const request = requestFor(method.input, things, id);
        // On a busy host, all of these calls together outlast a lease.
        if (++calls % 50 === 0) await w.runner.reportJob({ jobId: job.id, attempt: 1, runnerId: 'r1' });
        const end = await failure(callAs(transport, method, request));
        if (end !== 'PermissionDenied PERMISSION_DENIED') found.add(`${service.typeName}/${method.name}`);
      }
    }
  }
  return found;
}

const contentsOf = async (on: TestServer): Promise<string> => {
  const tables = [
    'binaryData',
    'dataset',
    'datasetMember',
    'registryItem',
    'registryVersion',
    'apiKey',
    'boundingBox',
  ] as const;
  const rows = await Promise.all(tables.map((table) => on.db.selectFrom(table).selectAll().execute()));
  return JSON.stringify(rows);
};

test("a script's key reads images, datasets and packages, and can do nothing else", async () => {
  await using w = await world();
  const { on, started } = w;
  const job = await started();
  const { apiKeyId: entity = '', apiKey: payload = '' } = job.scriptCredentials ?? {};
  const credentials: Credentials = { type: 'api-key', entity, payload };
  const token = await on.token(credentials);
  const before = await contentsOf(on);
  const found = await allowed(w, token, job);
  assert.deepEqual([...found].toSorted(), [...scriptCalls].toSorted());
  assert.equal(await contentsOf(on), before, 'and nothing has changed');

  const data = await on.client(DataService, { token });
  const { data: rows } = await data.binaryDataByFilter({ includeBinary: true });
  assert.equal(rows.length, 3, 'it reads its images');
  const get = async (path: string, method = 'GET') =>
    (await fetch(`${on.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await get(`/data/${w.dataIds[0]}`), 200);
  assert.equal(await get(`/packages/${on.orgId}/script/1.tar.gz`), 200);
  assert.equal(await get(`/blobs/${job.manifestSha256}`), 404);
  assert.equal(await get(`/blobs/${'0'.repeat(64)}`, 'PUT'), 403);
  assert.equal(await get(`/api/json1/config?client=true&id=${w.partId}`), 403);
  const { apiKeys } = await (await on.client(AppService)).listKeys({ orgId: on.orgId });
  assert.equal(
    apiKeys.some(({ apiKey }) => apiKey?.id === entity),
    false,
    'no list shows it',
  );
});

test('a token of an attempt speaks for this attempt, and can do nothing else', async () => {
  await using w = await world();
  const { on, started } = w;
  const job = await started();
  const { id: otherId } = await w.training.submitCustomTrainingJob({ ...w.base, modelVersion: '2' });
  assert.equal((await w.runner.leaseJob({ ...offer, runnerId: 'r2' })).job?.id, otherId);
  const before = await contentsOf(on);
  const found = await allowed(w, job.attemptToken, job);
  assert.deepEqual([...found].toSorted(), [...attemptCalls].toSorted());
  assert.equal(await contentsOf(on), before);

  const runner = await on.client(RunnerService, { token: job.attemptToken });
  const mine = { jobId: job.id, attempt: 1, runnerId: 'r1' };
  assert.equal(await failure(runner.reportJob({ ...mine, phase: 'training' })), 'no failure');
  assert.equal(await failure(runner.reportJob({ ...mine, attempt: 2 })), 'Aborted LEASE_LOST');
  assert.equal(await failure(runner.reportJob({ ...mine, runnerId: 'r2' })), 'Aborted LEASE_LOST');
  assert.equal(await failure(runner.reportJob({ ...mine, jobId: otherId, runnerId: 'r2' })), 'Aborted LEASE_LOST');

  const headers = { authorization: `Bearer ${job.attemptToken}` };
  const status = async (path: string, method = 'GET', body?: string) =>
    (await fetch(`${on.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })).status;
  const manifest = await (await fetch(`${on.url}/blobs/${job.manifestSha256}`, { headers })).text();
  for (const line of manifest.trim().split('\n')) {
    assert.equal(await status(`/blobs/${parseDatasetLine(JSON.parse(line)).sha256}`), 200, 'an image of its manifest');
  }
  const foreign = Buffer.from('a file of the organization that is not for this job');
  const sha256 = createHash('sha256').update(foreign).digest('hex');
  const put = await fetch(`${on.url}/blobs/${sha256}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await on.token(on.owner)}` },
    body: foreign,
  });
  assert.equal(put.status, 201);
  assert.equal(await status(`/blobs/${sha256}`), 404, 'another file of the organization');
  assert.equal(await status(`/data/${w.dataIds[0]}`), 403);
  assert.equal(await status(`/packages/${on.orgId}/script/1.tar.gz`), 403);
  assert.equal(await status(`/api/json1/config?client=true&id=${w.partId}`), 403);

  const model = Buffer.from('model');
  const modelSha = createHash('sha256').update(model).digest('hex');
  assert.equal(await status(`/blobs/${modelSha}`, 'PUT', 'model'), 201);
  const files = [{ path: 'model.bin', sha256: modelSha, sizeBytes: BigInt(model.length) }];
  assert.equal(await failure(runner.completeJob({ ...mine, files })), 'no failure');
  assert.equal(await failure(runner.completeJob({ ...mine, files })), 'no failure', 'an answer that got lost');
  assert.equal(await failure(runner.reportJob(mine)), 'PermissionDenied PERMISSION_DENIED');
  assert.equal(await status(`/blobs/${job.manifestSha256}`), 404);
  assert.equal(await status(`/blobs/${modelSha}`, 'PUT', 'model'), 403);
});

const ends: [name: string, end: (w: Awaited<ReturnType<typeof world>>, job: Job) => Promise<unknown>][] = [
  [
    'failed',
    ({ runner }, { id: jobId }) =>
      runner.failJob({ jobId, attempt: 1, runnerId: 'r1', cause: 'script', code: 'X', message: 'x' }),
  ],
  [
    'tried again',
    ({ runner }, { id: jobId }) =>
      runner.failJob({
        jobId,
        attempt: 1,
        runnerId: 'r1',
        cause: 'infrastructure',
        code: 'RUNNER_STOPPED',
        message: 'x',
      }),
  ],
  [
    'canceled',
    async ({ runner, training }, { id }) => {
      await training.cancelTrainingJob({ id });
      await runner.confirmStop({ jobId: id, attempt: 1, runnerId: 'r1' });
    },
  ],
  [
    'lost, and leased anew',
    async ({ runner }, { id: jobId }) => {
      await runner.reportJob({ jobId, attempt: 1, runnerId: 'r1' });
      const { job } = await runner.leaseJob(offer);
      assert.equal(job?.attempt, 2);
    },
  ],
  [
    'deleted',
    async ({ runner, training }, { id }) => {
      await runner.failJob({ jobId: id, attempt: 1, runnerId: 'r1', cause: 'data', code: 'X', message: 'x' });
      await training.deleteCompletedTrainingJob({ id });
    },
  ],
];
for (const [name, end] of ends) {
  test(`key and token of a run end with it: ${name}`, async () => {
    await using w = await world();
    const { on, started } = w;
    const job = await started();
    const { apiKeyId: entity = '', apiKey: payload = '' } = job.scriptCredentials ?? {};
    const token = await on.token({ type: 'api-key', entity, payload });
    const data = await on.client(DataService, { token });
    const count = () => failure(data.binaryDataByFilter({ countOnly: true }));
    const report = async () =>
      failure(
        (await on.client(RunnerService, { token: job.attemptToken })).reportJob({
          jobId: job.id,
          attempt: 1,
          runnerId: 'r1',
        }),
      );
    assert.equal(await count(), 'no failure');
    await end(w, job);
    assert.equal(await count(), 'Unauthenticated TOKEN_EXPIRED');
    assert.equal(await failure(on.token({ type: 'api-key', entity, payload })), 'Unauthenticated INVALID_CREDENTIALS');
    assert.match(await report(), /LEASE_LOST|PERMISSION_DENIED/);
  });
}

test('the log is followed: lines come as they are written, then the end', async () => {
  await using w = await world();
  const { training, runner, started } = w;
  const job = await started();
  const attempt = { jobId: job.id, attempt: 1, runnerId: 'r1' };
  const follow = async (): Promise<string[]> => {
    const lines: string[] = [];
    for (let pageToken = ''; ;) {
      const page = await training.getTrainingJobLogs({ id: job.id, pageToken, wait: { seconds: 30n, nanos: 0 } });
      lines.push(...page.logs.map(({ message }) => message));
      if (page.nextPageToken === '') return lines;
      pageToken = page.nextPageToken;
    }
  };
  assert.equal((await training.getTrainingJobLogs({ id: job.id })).nextPageToken, '', 'who does not wait gets the end');
  const followers = Array.from({ length: 100 }, follow);
  const wanted: string[] = [];
  for (let n = 1; n <= 40; n++) {
    const logs = [{ sequence: BigInt(n), level: 'info', message: `line ${n}` }];
    wanted.push(`line ${n}`);
    await runner.reportJob({ ...attempt, logs });
  }
  await runner.failJob({ ...attempt, cause: 'infrastructure', code: 'RUNNER_STOPPED', message: 'x' });
  const again = (await runner.leaseJob(offer)).job;
  wanted.push('Attempt 2 begins; what stands above is of an attempt that ended without a result.', 'last');
  await runner.reportJob({ ...attempt, attempt: again?.attempt ?? 0, logs: [{ sequence: 1n, message: 'last' }] });
  await runner.failJob({ ...attempt, attempt: 2, cause: 'script', code: 'X', message: 'x' });
  for (const lines of await Promise.all(followers)) assert.deepEqual(lines, wanted);
  const { metadata } = await training.getTrainingJob({ id: job.id });
  assert.equal(metadata?.status, TrainingStatus.FAILED);
});
