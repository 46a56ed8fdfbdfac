import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { connectCode, errorDomain, errorTable, isErrorCode } from '@platform/contract/errors/errors';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import {
  MLTrainingService,
  ModelFramework,
  ModelType,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { smallPng } from '@platform/kit/testing';
import { insertKey } from '../src/access/store/keys.ts';
import { bearer, type Credentials, testServer, type TestServer } from './server.ts';

type Asker = 'owner' | 'operator' | 'foreignOwner' | 'unauthenticated' | 'forger';

async function start() {
  const on = await testServer();
  const { orgId, db } = on;
  const key = async (role: 'owner' | 'operator', of: string): Promise<Credentials> => {
    const grants = [{ role, resource: 'organization' as const, resourceId: of, orgId: of }];
    const made = await insertKey(db, { orgId: of, name: role, grants });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const foreign = randomUUID();
  await db.insertInto('organization').values({ id: foreign, name: 'Others', publicNamespace: 'others' }).execute();
  const tokens: Record<Asker, string | undefined> = {
    owner: await on.token(on.owner),
    operator: await on.token(await key('operator', orgId)),
    foreignOwner: await on.token(await key('owner', foreign)),
    unauthenticated: undefined,
    forger: 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA',
  };
  const datasets = await on.client(DatasetService);
  const { partId } = await on.machine('camera');
  const uploads = await on.client(DataSyncService);
  const dataset = async (name: string, counts: Record<string, number>): Promise<string> => {
    const { id } = await datasets.createDataset({ organizationId: orgId, name });
    for (const [label, count] of Object.entries(counts)) {
      for (let n = 0; n < count; n++) {
        await uploads.dataCaptureUpload({
          metadata: { partId, type: 1, fileExtension: '.png', tags: label ? label.split('+') : [], datasetIds: [id] },
          sensorContents: [{ data: { case: 'binary', value: smallPng(`${name} ${label} ${n}`) }, metadata: {} }],
        });
      }
    }
    return id;
  };
  const datasetId = await dataset('good', { a: 10, b: 10 });
  const training = await on.client(MLTrainingService);
  const base = {
    organizationId: orgId,
    datasetId,
    modelName: 'm',
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['a', 'b'],
  };
  const { id: jobId } = await training.submitTrainingJob(base);
  const { id: endedId } = await training.submitTrainingJob({ ...base, modelVersion: 'ended' });
  await training.cancelTrainingJob({ id: endedId });
  await (await on.client(RunnerService, on.runner)).leaseJob({ runnerId: 'r', kinds: ['object_detection'] });
  const others = {
    empty: await dataset('empty', {}),
    few: await dataset('few', { a: 10, b: 9 }),
    loose: await dataset('loose', { a: 10, b: 10, '': 6 }),
    both: await dataset('both', { 'a+b': 20 }),
  };
  const custom = {
    organizationId: orgId,
    datasetId,
    registryItemId: `${orgId}:script`,
    registryItemVersion: '1',
    modelName: 'm',
    modelVersion: '9',
  };
  return { on, tokens, base, custom, jobId, endedId, others, foreign };
}
type World = Awaited<ReturnType<typeof start>>;
type Calls = ReturnType<typeof createClient<typeof MLTrainingService>>;
type Row = [
  condition: string,
  call: (to: Calls, w: World) => Promise<unknown>,
  code: string,
  who?: Asker,
  data?: string,
];

/** Each error condition that the contract names, by call. */
const rows: Row[] = [
  [
    'no token',
    (to, w) => to.listTrainingJobs({ organizationId: w.base.organizationId }),
    'NOT_AUTHENTICATED',
    'unauthenticated',
  ],
  ['a token of another signer', (to, w) => to.getTrainingJob({ id: w.jobId }), 'NOT_AUTHENTICATED', 'forger'],
  ['submit: not an owner', (to, w) => to.submitTrainingJob(w.base), 'NOT_OWNER', 'operator'],
  ['submit script: not an owner', (to, w) => to.submitCustomTrainingJob(w.custom), 'NOT_OWNER', 'operator'],
  [
    'list: not an owner',
    (to, w) => to.listTrainingJobs({ organizationId: w.base.organizationId }),
    'NOT_OWNER',
    'operator',
  ],
  ['get: not an owner', (to, w) => to.getTrainingJob({ id: w.jobId }), 'NOT_OWNER', 'operator'],
  ['cancel: not an owner', (to, w) => to.cancelTrainingJob({ id: w.jobId }), 'NOT_OWNER', 'operator'],
  ['delete: not an owner', (to, w) => to.deleteCompletedTrainingJob({ id: w.endedId }), 'NOT_OWNER', 'operator'],
  ['logs: not an owner', (to, w) => to.getTrainingJobLogs({ id: w.jobId }), 'NOT_OWNER', 'operator'],
  ['containers: not an owner', (to) => to.listSupportedContainers({}), 'NOT_OWNER', 'operator'],
  [
    'submit: no organization',
    (to, w) => to.submitTrainingJob({ ...w.base, organizationId: '' }),
    'INVALID_ARGUMENT',
    'owner',
    'organization_id',
  ],
  [
    'submit: no dataset',
    (to, w) => to.submitTrainingJob({ ...w.base, datasetId: '' }),
    'INVALID_ARGUMENT',
    'owner',
    'dataset_id',
  ],
  [
    'submit: no model name',
    (to, w) => to.submitTrainingJob({ ...w.base, modelName: '' }),
    'INVALID_ARGUMENT',
    'owner',
    'model_name',
  ],
  [
    'submit: no version',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '' }),
    'INVALID_ARGUMENT',
    'owner',
    'model_version',
  ],
  [
    'submit: no type',
    (to, w) => to.submitTrainingJob({ ...w.base, modelType: ModelType.UNSPECIFIED }),
    'INVALID_ARGUMENT',
    'owner',
    'model_type',
  ],
  [
    'submit script: no namespace',
    (to, w) => to.submitCustomTrainingJob({ ...w.custom, registryItemId: 'script' }),
    'INVALID_ARGUMENT',
    'owner',
    'registry_item_id',
  ],
  [
    'submit script: a bad argument',
    (to, w) => to.submitCustomTrainingJob({ ...w.custom, arguments: { 'a b': '' } }),
    'INVALID_ARGUMENT',
    'owner',
    'arguments.a b',
  ],
  [
    'submit: unknown organization',
    (to, w) => to.submitTrainingJob({ ...w.base, organizationId: randomUUID() }),
    'ORGANIZATION_NOT_FOUND',
  ],
  [
    'submit: foreign organization',
    (to, w) => to.submitTrainingJob({ ...w.base, organizationId: w.foreign }),
    'ORGANIZATION_NOT_FOUND',
  ],
  [
    'submit: unknown dataset',
    (to, w) => to.submitTrainingJob({ ...w.base, datasetId: randomUUID() }),
    'DATASET_NOT_FOUND',
  ],
  ['submit script: unknown script', (to, w) => to.submitCustomTrainingJob(w.custom), 'SCRIPT_NOT_FOUND'],
  ['submit: version used before', (to, w) => to.submitTrainingJob(w.base), 'MODEL_VERSION_TAKEN'],
  [
    'submit: version of a canceled job',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: 'ended' }),
    'MODEL_VERSION_TAKEN',
  ],
  [
    'submit: one label',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', tags: ['a'] }),
    'TOO_FEW_LABELS',
  ],
  [
    'submit: nothing matches',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', tags: ['x', 'y'] }),
    'DATASET_EMPTY',
  ],
  [
    'submit: empty dataset',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', datasetId: w.others.empty }),
    'DATASET_EMPTY',
  ],
  [
    'submit: too few of a label',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', datasetId: w.others.few }),
    'TOO_FEW_IMAGES',
    'owner',
    'a 10, b 9',
  ],
  [
    'submit: too many unlabeled',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', datasetId: w.others.loose }),
    'TOO_MANY_UNLABELED',
  ],
  [
    'submit: all carry both labels',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', datasetId: w.others.both }),
    'LABELS_AMBIGUOUS',
  ],
  [
    'submit: framework not made',
    (to, w) => to.submitTrainingJob({ ...w.base, modelVersion: '2', modelFramework: ModelFramework.PYTORCH }),
    'FRAMEWORK_NOT_SUPPORTED',
  ],
  ['get: unknown', (to) => to.getTrainingJob({ id: randomUUID() }), 'TRAINING_JOB_NOT_FOUND'],
  ['get: no id', (to) => to.getTrainingJob({ id: '' }), 'TRAINING_JOB_NOT_FOUND'],
  ['get: foreign', (to, w) => to.getTrainingJob({ id: w.jobId }), 'TRAINING_JOB_NOT_FOUND', 'foreignOwner'],
  ['cancel: unknown', (to) => to.cancelTrainingJob({ id: randomUUID() }), 'TRAINING_JOB_NOT_FOUND'],
  ['cancel: foreign', (to, w) => to.cancelTrainingJob({ id: w.jobId }), 'TRAINING_JOB_NOT_FOUND', 'foreignOwner'],
  ['cancel: ended', (to, w) => to.cancelTrainingJob({ id: w.endedId }), 'JOB_FINISHED'],
  ['delete: unknown', (to) => to.deleteCompletedTrainingJob({ id: randomUUID() }), 'TRAINING_JOB_NOT_FOUND'],
  [
    'delete: foreign',
    (to, w) => to.deleteCompletedTrainingJob({ id: w.jobId }),
    'TRAINING_JOB_NOT_FOUND',
    'foreignOwner',
  ],
  ['delete: live', (to, w) => to.deleteCompletedTrainingJob({ id: w.jobId }), 'JOB_NOT_FINISHED'],
  ['logs: unknown', (to) => to.getTrainingJobLogs({ id: randomUUID() }), 'TRAINING_JOB_NOT_FOUND'],
  ['logs: foreign', (to, w) => to.getTrainingJobLogs({ id: w.jobId }), 'TRAINING_JOB_NOT_FOUND', 'foreignOwner'],
  [
    'logs: bad page token',
    (to, w) => to.getTrainingJobLogs({ id: w.jobId, pageToken: 'x' }),
    'INVALID_ARGUMENT',
    'owner',
    'page_token',
  ],
  ['list: no organization', (to) => to.listTrainingJobs({}), 'INVALID_ARGUMENT', 'owner', 'organization_id'],
  [
    'list: foreign organization',
    (to, w) => to.listTrainingJobs({ organizationId: w.foreign }),
    'ORGANIZATION_NOT_FOUND',
  ],
  [
    'list: too large a page',
    (to, w) => to.listTrainingJobs({ organizationId: w.base.organizationId, pageSize: 5000 }),
    'INVALID_ARGUMENT',
    'owner',
    'page_size',
  ],
];

/** The three protocols, each under both package names. */
function transports(on: TestServer, token: string | undefined): [name: string, transport: Transport][] {
  const interceptors = token === undefined ? [] : [bearer(token)];
  const renamed = ((next) => (request) => {
    const url = request.url.replace('/platform.', '/viam.');
    return next({ ...request, url });
  }) satisfies ReturnType<typeof bearer>;
  return [[], [renamed]].flatMap((names): [string, Transport][] => {
    const options = { baseUrl: on.url, interceptors: [...interceptors, ...names] };
    const of = names.length > 0 ? 'viam' : 'platform';
    return [
      [`gRPC ${of}`, createGrpcTransport(options)],
      [`gRPC-Web ${of}`, createGrpcWebTransport({ ...options, httpVersion: '1.1' })],
      [`Connect ${of}`, createConnectTransport({ ...options, httpVersion: '1.1' })],
      [`Connect JSON ${of}`, createConnectTransport({ ...options, httpVersion: '1.1', useBinaryFormat: false })],
    ];
  });
}

const raw: [name: string, path: string, headers: Record<string, string>, body: string | Buffer, reason: string][] = [
  ['a method that there is not', '/platform.app.mltraining.v1.MLTrainingService/Nothing', {}, '{}', 'UNKNOWN_METHOD'],
  ['a service that there is not', '/viam.app.nothing.v1.Nothing/Get', {}, '{}', 'UNKNOWN_METHOD'],
  ['no JSON', '/viam.app.mltraining.v1.MLTrainingService/GetTrainingJob', {}, '{', 'INVALID_MESSAGE'],
  [
    'JSON in Latin-1',
    '/viam.app.mltraining.v1.MLTrainingService/GetTrainingJob',
    {},
    Buffer.from('{"id":"Müller"}', 'latin1'),
    'INVALID_MESSAGE',
  ],
  [
    'a field of another type',
    '/viam.app.mltraining.v1.MLTrainingService/GetTrainingJob',
    {},
    '{"id":{}}',
    'INVALID_MESSAGE',
  ],
  [
    'no message',
    '/viam.app.mltraining.v1.MLTrainingService/GetTrainingJob',
    { 'content-type': 'application/proto' },
    'zzzz',
    'INVALID_MESSAGE',
  ],
];
test('every error carries its row and its remedy, over every protocol and under both names', async (t) => {
  const w = await start();
  await using _ = w.on;
  for (const [condition, call, code, who = 'owner', data] of rows) {
    await t.test(`${condition}: ${code}`, async () => {
      for (const [name, transport] of transports(w.on, w.tokens[who])) {
        const error: unknown = await call(createClient(MLTrainingService, transport), w).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof ConnectError, `${name}: ${String(error)}`);
        const [info] = error.findDetails(ErrorInfoSchema);
        assert.ok(isErrorCode(code));
        assert.deepEqual(
          [error.code, info?.reason, info?.domain, info?.metadata['remedy']],
          [connectCode[errorTable[code].rpc], code, errorDomain, errorTable[code].remedy],
          `${name}: ${error.message}`,
        );
        assert.ok(error.rawMessage.startsWith(`${code}: `), name);
        if (data) assert.ok(Object.values(info?.metadata ?? {}).includes(data), `${name}: ${JSON.stringify(info)}`);
      }
    });
  }
  for (const [name, path, headers, body, reason] of raw) {
    await t.test(`${name}: ${reason}`, async () => {
      const response = await fetch(`${w.on.url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'connect-protocol-version': '1',
          authorization: `Bearer ${w.tokens.owner}`,
          ...headers,
        },
        body,
      });
      const answer = (await response.json()) as Answer;
      const info = answer.details?.find(({ type }) => type === 'google.rpc.ErrorInfo')?.debug;
      assert.equal(info?.reason, reason, JSON.stringify(answer));
      assert.notEqual(info?.metadata.remedy ?? '', '');
    });
  }
  for (const [name, type] of [
    ['gRPC', 'application/grpc'],
    ['gRPC-Web', 'application/grpc-web'],
  ] as const) {
    await t.test(`a message that cannot be read, over ${name}: INVALID_MESSAGE`, async () => {
      const garbage = Buffer.from([0, 0, 0, 0, 3, 0x0a, 0x7f, 0x7f]);
      const trailer = await rawCall(w.on.url, type, garbage, w.tokens.owner ?? '');
      const error = findTrailerError(trailer);
      assert.deepEqual([error?.code, error?.findDetails(ErrorInfoSchema)[0]?.reason], [3, 'INVALID_MESSAGE']);
    });
  }
});

type Answer = { details?: { type: string; debug?: { reason: string; metadata: { remedy: string } } }[] };

/** Sends raw bytes. @returns the trailer of the answer. */
async function rawCall(url: string, type: string, body: Buffer, token: string): Promise<Headers> {
  const path = '/platform.app.mltraining.v1.MLTrainingService/GetTrainingJob';
  const headers = { 'content-type': type, authorization: `Bearer ${token}` };
  if (type === 'application/grpc-web') {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { ...headers, 'x-grpc-web': '1' }, body });
    return trailerParse(new Uint8Array(await response.arrayBuffer()).subarray(5));
  }
  const session = http2.connect(url);
  try {
    const stream = session.request({ ':path': path, ':method': 'POST', ...headers, te: 'trailers' });
    const found = new Headers();
    const take = (some: http2.IncomingHttpHeaders): void => {
      for (const [key, value] of Object.entries(some)) if (!key.startsWith(':')) found.set(key, String(value));
    };
    stream.on('response', take);
    stream.on('trailers', take);
    stream.end(body);
    stream.resume();
    await once(stream, 'close');
    return found;
  } finally {
    session.close();
  }
}
