import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createRouterTransport } from '@connectrpc/connect';
import { PlatformError, errorInfoOf } from '@platform/contract/errors/errors';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { BinaryDataSchema, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import {
  MLTrainingService,
  TrainingJobMetadataSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { allMachines, ModelType, PlatformApiError, TrainingStatus, createPlatformClient } from '../src/index.ts';

/** As the server does it: the row of the error table in the details. */
function refuse(error: PlatformError, code: Code): ConnectError {
  return new ConnectError(error.message, code, undefined, [{ desc: ErrorInfoSchema, value: errorInfoOf(error) }]);
}

/** A server in memory that takes one key and the tokens it has given out and not withdrawn. */
function server(routes: (router: ConnectRouter) => void) {
  const valid = new Set<string>();
  const seen = { authentications: 0, withdraw: () => valid.clear() };
  const client = createPlatformClient({
    baseUrl: 'http://memory.test',
    credentials: { type: 'api-key', authEntity: 'id-1', payload: 'key-1' },
    transport: (interceptors) =>
      createRouterTransport(
        (router) => {
          router.service(AuthService, {
            authenticate: ({ entity, credentials }) => {
              seen.authentications += 1;
              if (entity !== 'id-1' || credentials?.payload !== 'key-1')
                throw refuse(new PlatformError('INVALID_CREDENTIALS'), Code.Unauthenticated);
              const accessToken = `token-${seen.authentications}`;
              valid.add(accessToken);
              return { accessToken };
            },
          });
          routes(router);
        },
        {
          transport: { interceptors },
          router: {
            interceptors: [
              (next) => (request) => {
                const isPublic = request.service.typeName === AuthService.typeName;
                const token = request.header.get('authorization')?.replace('Bearer ', '') ?? '';
                if (!isPublic && !valid.has(token))
                  throw refuse(new PlatformError('TOKEN_EXPIRED'), Code.Unauthenticated);
                return next(request);
              },
            ],
          },
        },
      ),
  });
  return { client, seen };
}

const jobs = (router: ConnectRouter): ConnectRouter =>
  router.service(MLTrainingService, {
    submitTrainingJob: (request) => {
      if (request.modelVersion === 'taken')
        throw refuse(
          new PlatformError('MODEL_VERSION_TAKEN', { modelName: request.modelName, modelVersion: 'taken' }),
          Code.AlreadyExists,
        );
      return {
        id: `${request.organizationId}/${request.datasetId}/${request.modelName}/${request.modelType}/${request.tags.join('+')}`,
      };
    },
    listTrainingJobs: ({ status }) => ({ jobs: [create(TrainingJobMetadataSchema, { id: `status ${status}` })] }),
  });

test('calls authenticate once, also when many start together', async () => {
  const { client, seen } = server(jobs);
  const ids = await Promise.all(
    [1, 2, 3].map((n) =>
      client.mlTrainingClient.submitTrainingJob('o', 'd', `m${n}`, '1', ModelType.SINGLE_LABEL_CLASSIFICATION, [
        'a',
        'b',
      ]),
    ),
  );
  assert.deepEqual(ids, ['o/d/m1/1/a+b', 'o/d/m2/1/a+b', 'o/d/m3/1/a+b']);
  assert.equal(seen.authentications, 1);
});

test('a token that ran out is renewed once and the call goes through', async () => {
  const { client, seen } = server(jobs);
  await client.mlTrainingClient.listTrainingJobs('o');
  seen.withdraw();
  assert.equal((await client.mlTrainingClient.listTrainingJobs('o'))[0]?.id, 'status 0');
  assert.equal(seen.authentications, 2);
});

test('a wrong key is an error with its remedy, and the next call tries again', async () => {
  const wrong = createPlatformClient({
    baseUrl: 'http://memory.test',
    credentials: { type: 'api-key', authEntity: 'id-1', payload: 'other' },
    transport: (interceptors) =>
      createRouterTransport(
        (router) =>
          router.service(AuthService, {
            authenticate: () => Promise.reject(refuse(new PlatformError('INVALID_CREDENTIALS'), Code.Unauthenticated)),
          }),
        { transport: { interceptors } },
      ),
  });
  for (const _ of [1, 2]) {
    await assert.rejects(wrong.mlTrainingClient.listTrainingJobs('o'), (error) => {
      assert.ok(error instanceof PlatformApiError);
      assert.deepEqual([error.code, error.status, error.retry], ['INVALID_CREDENTIALS', 'unauthenticated', 'never']);
      assert.match(error.remedy, /API key/);
      return true;
    });
  }
});

test('RUNNING is the filter for jobs in progress, no status asks for all', async () => {
  const { client } = server(jobs);
  assert.equal((await client.mlTrainingClient.listTrainingJobs('o', TrainingStatus.RUNNING))[0]?.id, 'status 2');
  assert.equal((await client.mlTrainingClient.listTrainingJobs('o'))[0]?.id, 'status 0');
});

test('an error of the server carries code, sentence, remedy and data', async () => {
  const { client } = server(jobs);
  await assert.rejects(
    client.mlTrainingClient.submitTrainingJob('o', 'd', 'm', 'taken', ModelType.OBJECT_DETECTION, []),
    {
      name: 'PlatformApiError',
      code: 'MODEL_VERSION_TAKEN',
      status: 'already_exists',
      what: 'Version taken of model m is already taken.',
      data: { modelName: 'm', modelVersion: 'taken' },
      retry: 'never',
    },
  );
});

test('an error without details keeps its status as code', async () => {
  const { client } = server(() => undefined);
  await assert.rejects(client.datasetClient.createDataset('x', 'o'), {
    code: 'UNIMPLEMENTED',
    status: 'unimplemented',
    retry: 'never',
  });
});

test('waiting for a job reports progress, bridges an outage and returns the end', async () => {
  const states = [TrainingStatus.PENDING, undefined, TrainingStatus.IN_PROGRESS, undefined, TrainingStatus.COMPLETED];
  const { client } = server((router) =>
    router.service(MLTrainingService, {
      getTrainingJob: ({ id }) => {
        const status = states.shift();
        if (status === undefined) throw new ConnectError('away', Code.Unavailable);
        return { metadata: { id, status } };
      },
    }),
  );
  const progress: TrainingStatus[] = [];
  const job = await client.mlTrainingClient.waitForTrainingJob('j', {
    everyMs: 1,
    onProgress: ({ status }) => progress.push(status),
  });
  assert.equal(job.status, TrainingStatus.COMPLETED);
  assert.deepEqual(progress, [TrainingStatus.PENDING, TrainingStatus.IN_PROGRESS, TrainingStatus.COMPLETED]);
});

test('waiting ends with a lasting error, and with an aborted signal', async () => {
  const { client } = server((router) =>
    router.service(MLTrainingService, {
      getTrainingJob: ({ id }) => {
        if (id === 'gone') throw refuse(new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id }), Code.NotFound);
        return { metadata: { id, status: TrainingStatus.IN_PROGRESS } };
      },
    }),
  );
  await assert.rejects(client.mlTrainingClient.waitForTrainingJob('gone'), { code: 'TRAINING_JOB_NOT_FOUND' });
  const stop = new AbortController();
  const waiting = client.mlTrainingClient.waitForTrainingJob('j', {
    signal: stop.signal,
    everyMs: 600_000,
    onProgress: () => stop.abort(new Error('enough')),
  });
  await assert.rejects(waiting, /enough/);
});

test('job logs are read to the last page', async () => {
  const pages: Record<string, string> = { '': 'b', b: 'c', c: '' };
  const { client } = server((router) =>
    router.service(MLTrainingService, {
      getTrainingJobLogs: ({ pageToken }) => {
        const nextPageToken = pages[pageToken ?? ''] ?? '';
        return { logs: nextPageToken === '' ? [] : [{ message: `page ${pageToken}` }], nextPageToken };
      },
    }),
  );
  assert.deepEqual(
    (await client.mlTrainingClient.getTrainingJobLogs('j')).map((line) => line.message),
    ['page ', 'page b'],
  );
});

const image = (n: number) => ({ bytes: Uint8Array.of(n), fileExtension: 'jpg', tags: [`tag${n}`] });

test('images are uploaded several at a time, each once, IDs in their order, passing failures tried again', async () => {
  const tries = new Map<number, number>();
  const uploads = new Set<string | undefined>();
  let open = 0;
  let most = 0;
  const { client } = server((router) =>
    router.service(DataSyncService, {
      dataCaptureUpload: async ({ metadata, sensorContents }) => {
        open += 1;
        most = Math.max(most, open);
        await new Promise(setImmediate);
        open -= 1;
        const content = sensorContents[0]?.data;
        const n = content?.case === 'binary' ? (content.value[0] ?? -1) : -1;
        tries.set(n, (tries.get(n) ?? 0) + 1);
        uploads.add(metadata?.uploadId);
        if (n === 3 && tries.get(n) === 1) throw new ConnectError('busy', Code.Unavailable);
        assert.deepEqual([metadata?.partId, metadata?.datasetIds, metadata?.tags], ['p', ['d'], [`tag${n}`]]);
        return { binaryDataId: `id-${n}` };
      },
    }),
  );
  const done: number[] = [];
  const numbers = Array.from({ length: 10 }, (_, n) => n);
  const ids = await client.dataClient.uploadImages(numbers.map(image), {
    partId: 'p',
    datasetIds: ['d'],
    concurrency: 3,
    onProgress: (n) => done.push(n),
  });
  assert.deepEqual(
    ids,
    numbers.map((n) => `id-${n}`),
  );
  assert.deepEqual(
    done,
    numbers.map((n) => n + 1),
  );
  assert.equal(most, 3);
  assert.deepEqual(
    [...tries.values()].reduce((a, b) => a + b),
    11,
  );
  assert.equal(uploads.size, 10, 'a repeated upload keeps its ID, so that it is stored once');
});

test('the first lasting failure ends an upload and closes its source', async () => {
  let isClosed = false;
  async function* source() {
    try {
      for (let n = 0; ; n += 1) yield image(n);
    } finally {
      isClosed = true;
    }
  }
  const { client } = server((router) =>
    router.service(DataSyncService, {
      dataCaptureUpload: ({ sensorContents }) => {
        const content = sensorContents[0]?.data;
        if (content?.case === 'binary' && content.value[0] === 5)
          throw refuse(new PlatformError('PART_NOT_FOUND', { partId: 'p' }), Code.NotFound);
        return { binaryDataId: 'x' };
      },
    }),
  );
  await assert.rejects(client.dataClient.uploadImages(source(), { partId: 'p', concurrency: 2 }), {
    code: 'PART_NOT_FOUND',
  });
  assert.ok(isClosed);
});

test('all data is paged until an empty page', async () => {
  const { client } = server((router) =>
    router.service(DataService, {
      binaryDataByFilter: ({ dataRequest }) => {
        const start = Number(dataRequest?.last || 0);
        const end = Math.min(start + Number(dataRequest?.limit ?? 0), 230);
        const data = Array.from({ length: end - start }, (_, i) =>
          create(BinaryDataSchema, { metadata: { binaryDataId: `${start + i}` } }),
        );
        return { data, last: `${end}`, count: BigInt(data.length) };
      },
    }),
  );
  const ids: string[] = [];
  for await (const item of client.dataClient.allBinaryData({ datasetId: 'd' }))
    ids.push(item.metadata?.binaryDataId ?? '');
  assert.deepEqual(
    ids,
    Array.from({ length: 230 }, (_, n) => `${n}`),
  );
});

test('streams deliver, and fail with the same kind of error', async () => {
  const { client } = server((router) =>
    router.service(AppService, {
      async *tailRobotPartLogs() {
        yield { logs: [{ message: 'one' }] };
        throw refuse(new PlatformError('PART_NOT_FOUND', { partId: 'p' }), Code.NotFound);
      },
    }),
  );
  const messages: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { logs } of client.appClient.tailRobotPartLogs({ id: 'p' }))
        messages.push(...logs.map((line) => line.message));
    },
    { code: 'PART_NOT_FOUND' },
  );
  assert.deepEqual(messages, ['one']);
});

test('address and key come from the environment; without them the error says which to set', () => {
  const saved = { ...process.env };
  try {
    for (const name of ['PLATFORM_URL', 'PLATFORM_API_KEY_ID', 'PLATFORM_API_KEY']) delete process.env[name];
    assert.throws(() => createPlatformClient(), /PLATFORM_URL/);
    process.env['PLATFORM_URL'] = 'http://127.0.0.1:1/';
    assert.throws(() => createPlatformClient(), /PLATFORM_API_KEY_ID/);
    process.env['PLATFORM_API_KEY_ID'] = 'id';
    process.env['PLATFORM_API_KEY'] = 'key';
    assert.equal(createPlatformClient().url, 'http://127.0.0.1:1');
    for (const [url, problem] of [
      ['127.0.0.1:1', /it must begin with https:\/\/ or http:\/\//],
      ['http://127.0.0.1:1/machines', /it must not have a path/],
    ] as const) {
      process.env['PLATFORM_URL'] = url;
      assert.throws(() => createPlatformClient(), problem);
    }
  } finally {
    process.env = saved;
  }
});

test('a server out of reach is OFFLINE with its address, by RPC and by HTTP', async () => {
  const listener = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const address = listener.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  await new Promise((resolve) => listener.close(resolve));
  const baseUrl = `http://127.0.0.1:${port}`;
  const client = createPlatformClient({ baseUrl, credentials: { type: 'api-key', authEntity: 'id', payload: 'key' } });
  for (const call of [client.datasetClient.listDatasetsByIds([]), client.request('/blobs/x')]) {
    await assert.rejects(call, { code: 'OFFLINE', retry: 'later', data: { url: baseUrl } });
  }
});

test('plain HTTP requests carry the token, renew it once, and fail with the code of the answer', async () => {
  const answers = [
    [401, '{"code":"TOKEN_EXPIRED"}'],
    [201, ''],
    [413, '{"code":"BLOB_TOO_LARGE","message":"The file is too large.","remedy":"Send a smaller one."}'],
  ] as const;
  const seen: string[] = [];
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const answer = answers[seen.length];
    seen.push(new Headers(init?.headers).get('authorization') ?? '');
    return new Response(answer?.[1] || null, { status: answer?.[0] ?? 500 });
  };
  let tokens = 0;
  const client = createPlatformClient({
    baseUrl: 'http://memory.test',
    credentials: { type: 'robot-secret', authEntity: 'part', payload: 'secret' },
    fetch,
    transport: (interceptors) =>
      createRouterTransport(
        (router) => router.service(AuthService, { authenticate: () => ({ accessToken: `t${++tokens}` }) }),
        { transport: { interceptors } },
      ),
  });
  const sha256 = await client.releaseClient.putBlob(new TextEncoder().encode('abc'));
  assert.equal(sha256, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  await assert.rejects(client.request('/blobs/1', { method: 'PUT' }), {
    code: 'BLOB_TOO_LARGE',
    status: 'resource_exhausted',
    what: 'The file is too large.',
    retry: 'never',
  });
  assert.deepEqual(seen, ['Bearer t1', 'Bearer t2', 'Bearer t2']);
});

test('machines, tags and labels of a server that answers in pieces come whole, each once', async () => {
  const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const after = (last: string) => {
    const rest = words.filter((word) => word > last);
    return { page: rest.slice(0, 3), truncated: rest.length > 3 };
  };
  const { client } = server((router) => {
    router.service(FleetService, {
      listMachines: ({ pageToken }) => {
        const { page, truncated } = after(pageToken);
        return { machines: page.map((name) => ({ name })), nextPageToken: truncated ? (page.at(-1) ?? '') : '' };
      },
    });
    router.service(DataService, {
      tagsByFilter: (request) => {
        const { page, truncated } = after(request.after);
        return { tags: page, truncated };
      },
      boundingBoxLabelsByFilter: (request) => {
        const { page, truncated } = after(request.after);
        return { labels: page, truncated };
      },
    });
  });
  assert.deepEqual(
    (await allMachines(client, 'o')).map(({ name }) => name),
    words,
  );
  assert.deepEqual(await client.dataClient.tagsByFilter({}), words);
  assert.deepEqual(await client.dataClient.boundingBoxLabelsByFilter({}), words);
});
