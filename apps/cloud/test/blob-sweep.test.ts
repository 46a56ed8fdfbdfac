// The server stops serving unreferenced blobs and removes them from disk, also with concurrent uploads.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { seededRandom, smallPng, tempFolder } from '@platform/kit/testing';
import { attemptInputs } from '../src/blobs/attempt-inputs.ts';
import { openDiskBlobs } from '../src/blobs/disk.ts';
import type { BlobStore } from '../src/blobs/blob-store.ts';
import { blobFolders, sweepBlobs } from '../src/retention/sweeps.ts';
import { deleteData } from '../src/data/store/data-edits.ts';
import { noteBlob, readableBlobs } from '../src/blobs/store/owned-blobs.ts';
import { writeUpload } from '../src/data/store/uploads.ts';
import { failure } from './failure.ts';
import { testDatabase } from './database.ts';
import { testServer } from './server.ts';
import { trainingServer } from './training-server.ts';

const hour = 3_600_000;
const graceMs = 24 * hour;
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

test('no caller gets a deleted image, except the run of a job that was submitted before', async () => {
  await using on = await testServer();
  const [data, sync] = [await on.client(DataService), await on.client(DataSyncService)];
  const { id: datasetId } = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: on.orgId, name: 'd' });
  const { partId } = await on.machine('m');
  const images = Array.from({ length: 20 }, (_, n) => smallPng(`image ${n}`));
  const ids: string[] = [];
  for (const [n, value] of images.entries()) {
    const { binaryDataId } = await sync.dataCaptureUpload({
      metadata: { partId, type: 1, fileExtension: '.jpg', tags: [n % 2 ? 'a' : 'b'], datasetIds: [datasetId] },
      sensorContents: [{ data: { case: 'binary', value } }],
    });
    ids.push(binaryDataId);
  }
  const [id = ''] = ids;
  const sha256 = hashOf(images[0] ?? Buffer.alloc(0));
  const runner = await on.client(RunnerService, on.runner);
  await (
    await on.client(MLTrainingService)
  ).submitTrainingJob({
    organizationId: on.orgId,
    datasetId,
    modelName: 'm',
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['a', 'b'],
  });
  const { job } = await runner.leaseJob({ runnerId: 'r', kinds: ['single_label_classification'] });
  assert.ok(job);
  const { signedUrl } = await data.createBinaryDataSignedURL({ binaryDataId: id });
  const tokens = {
    owner: await on.token(on.owner),
    runner: await on.token(on.runner),
    attempt: job.attemptToken,
  };
  const seen = async () => {
    const status = async (url: string, who: keyof typeof tokens | undefined, method = 'GET') =>
      (await fetch(url, { method, ...(who && { headers: { authorization: `Bearer ${tokens[who]}` } }) })).status;
    return {
      owner: await status(`${on.url}/blobs/${sha256}`, 'owner'),
      runner: await status(`${on.url}/blobs/${sha256}`, 'runner', 'HEAD'),
      attempt: await status(`${on.url}/blobs/${sha256}`, 'attempt'),
      data: await status(`${on.url}/data/${id}`, 'owner'),
      signed: await status(signedUrl, undefined),
      rpc: await failure(data.binaryDataByIDs({ binaryDataIds: [id], includeBinary: true })),
    };
  };
  const served = { owner: 200, runner: 200, attempt: 200, data: 200, signed: 200, rpc: 'no failure' };
  assert.deepEqual(await seen(), served);

  await data.deleteBinaryDataByIDs({ binaryDataIds: [id] });
  const gone = { owner: 404, runner: 404, data: 404, signed: 404, rpc: 'NotFound BINARY_DATA_NOT_FOUND' };
  assert.deepEqual(await seen(), { ...gone, attempt: 200 });
  // A caller that knows only the hash cannot restore the blob; a caller with the bytes can store it again.
  const put = (body: Uint8Array) =>
    fetch(`${on.url}/blobs/${sha256}`, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { authorization: `Bearer ${tokens.owner}` },
    });
  assert.equal((await put(Buffer.from('only the hash'))).status >= 400, true);
  assert.deepEqual(await seen(), { ...gone, attempt: 200 });

  await runner.failJob({ jobId: job.id, attempt: 1, runnerId: 'r', cause: 'script', code: 'X', message: 'x' });
  assert.deepEqual(await seen(), { ...gone, attempt: 404 });
  assert.equal((await put(images[0] ?? Buffer.alloc(0))).status, 201);
  assert.equal((await seen()).owner, 200, 'sent again, it is a new file');
});

/** Finds bytes whose hashes share one folder of the store, so that one sweep step covers them. */
function inFolder(folder: string, count: number): Buffer[] {
  const found: Buffer[] = [];
  for (let n = 0; found.length < count; n++) {
    const bytes = Buffer.from(`${n}`);
    if (hashOf(bytes).startsWith(folder)) found.push(bytes);
  }
  return found;
}

async function store() {
  const database = await testDatabase();
  const folder = await tempFolder();
  const { db } = database;
  const blobs = await openDiskBlobs(folder.path);
  const orgId = crypto.randomUUID();
  await db.insertInto('organization').values({ id: orgId, name: 'o', publicNamespace: 'o' }).execute();
  const upload = async (bytes: Buffer, through: BlobStore = blobs) => {
    const origin = { machineId: null, machineName: '', partId: null, partName: '', locationId: 'l', orgId };
    const captured = { componentType: '', componentName: '', methodName: '', methodParameters: null, tags: [] };
    const file = { fileName: '', fileExt: '', mimeType: '', timeRequestedUs: 0, timeReceivedUs: 0 };
    const annotated = { boxes: [], classifications: [], captureTags: [] };
    const more = { datasetIds: [], ...annotated, isMerged: true, isImagesOnly: false, repeats: undefined };
    const stored = await through.put(whole(bytes));
    return writeUpload(db, { ...origin, ...captured, ...file, ...more }, stored);
  };
  const sweep = (now: number, at = 'aa', through: BlobStore = blobs) =>
    sweepBlobs({ db, blobs: through, inputs: attemptInputs(blobs) }, { folder: at, now, graceMs });
  const remove = (keys: { orgId: string; id: string }[]) =>
    deleteData(db, keys, { caller: { kind: 'api_key', id: 'k', name: 'k', grants: [] }, request: {} });
  /** Makes every existing file older. */
  const aDayPasses = async () => {
    const before = new Date(Date.now() - graceMs - hour);
    for (const name of await readdir(folder.path, { recursive: true }))
      if (path.basename(name).length === 64) await utimes(path.join(folder.path, name), before, before);
    await sql`update unnamed_blob set since = since - interval '25 hours'`.execute(db);
    await sql`update blob set uploaded_on = uploaded_on - interval '25 hours'`.execute(db);
  };
  const close = async () => {
    await database.close();
    await folder[Symbol.asyncDispose]();
  };
  return { db, blobs, orgId, upload, sweep, remove, aDayPasses, [Symbol.asyncDispose]: close };
}

test('a file is removed when nothing has named it for 24 hours, and not before', async () => {
  await using w = await store();
  const [kept, deleted, stray, again] = inFolder('aa', 4) as [Buffer, Buffer, Buffer, Buffer];
  await w.upload(kept);
  const key = await w.upload(deleted);
  const other = await w.upload(again);
  await w.blobs.put(whole(stray));
  await w.remove([key, other]);
  const start = Date.now();
  const there = async () => (await w.blobs.list('aa')).length;
  assert.deepEqual([await w.sweep(start), await there()], [0, 4], 'marked');
  assert.deepEqual([await w.sweep(start + graceMs - 1), await there()], [0, 4]);
  await w.upload(again);
  assert.deepEqual([await w.sweep(start + graceMs), await there()], [2, 2]);
  assert.deepEqual(new Set(await w.blobs.list('aa')), new Set([hashOf(kept), hashOf(again)]));
  assert.deepEqual(await w.db.selectFrom('unnamedBlob').selectAll().execute(), []);
  const rows = await w.db.selectFrom('blob').select('sha256').execute();
  assert.deepEqual(new Set(rows.map(({ sha256 }) => sha256)), new Set([hashOf(kept), hashOf(again)]));
});

test('a file that is sent again is young, however old its mark is', async () => {
  await using w = await store();
  const [stray] = inFolder('aa', 1) as [Buffer];
  await w.blobs.put(whole(stray));
  await w.sweep(Date.now());
  await w.aDayPasses();
  await w.blobs.put(whole(stray));
  assert.equal(await w.sweep(Date.now()), 0);
  await w.aDayPasses();
  assert.equal(await w.blobs.touch(hashOf(stray)), true);
  assert.equal(await w.sweep(Date.now()), 0);
  await w.aDayPasses();
  assert.equal(await w.sweep(Date.now()), 1);
  assert.equal(await w.blobs.touch(hashOf(stray)), false);
});

test('a mark that a clock ahead of its time left counts from now', async () => {
  await using w = await store();
  const [stray] = inFolder('aa', 1) as [Buffer];
  await w.blobs.put(whole(stray));
  const now = Date.now() + 48 * hour;
  await w.sweep(now + 365 * 24 * hour);
  assert.equal(await w.sweep(now), 0);
  assert.equal(await w.sweep(now + graceMs), 1);
});

test('images of a dataset stay while a job waits for it, also when they were deleted', async () => {
  await using server = await trainingServer();
  const { datasetOf, submission } = await import('./training-data.ts');
  const training = server.client(MLTrainingService, 'owner');
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const { id } = await training.submitTrainingJob(submission(server, datasetId));
  const filter = { interval: { start: { seconds: 0n, nanos: 0 } } };
  assert.equal((await server.client(DataService, 'owner').deleteBinaryDataByFilter({ filter })).deletedCount, 20n);
  const inputs = attemptInputs(server.blobs);
  const pass = async (now: number) => {
    let removed = 0;
    for (const folder of blobFolders)
      removed += await sweepBlobs({ db: server.db, blobs: server.blobs, inputs }, { folder, now, graceMs });
    return removed;
  };
  const start = Date.now();
  assert.deepEqual([await pass(start), await pass(start + 2 * graceMs)], [0, 0]);
  await training.cancelTrainingJob({ id });
  assert.deepEqual([await pass(start + 2 * graceMs), await pass(start + 4 * graceMs)], [0, 20]);
  assert.ok(await server.client(PackageService, 'owner').listPackages({ organizationId: server.own.orgId }));
});

test('whatever uploads, deletions and sweeps interleave: what a row names is whole, the rest goes', async () => {
  await using w = await store();
  const random = seededRandom(3);
  const pieces = inFolder('aa', 6);
  const pick = (): Buffer => pieces[Math.floor(random() * pieces.length)] ?? Buffer.alloc(0);
  const yields = async (): Promise<void> => {
    for (let n = Math.floor(random() * 4); n > 0; n--) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Delays every step of the store, so that concurrent steps interleave. */
  const slow: BlobStore = {
    ...w.blobs,
    put: async (...args) => {
      await yields();
      const stored = await w.blobs.put(...args);
      await yields();
      return stored;
    },
    list: async (...args) => {
      const found = await w.blobs.list(...args);
      await yields();
      return found;
    },
    deleteStoredBefore: async (...args) => {
      await yields();
      return w.blobs.deleteStoredBefore(...args);
    },
  };
  let keys: { orgId: string; id: string }[] = [];
  let removed = 0;
  for (let round = 0; round < 60; round++) {
    await w.aDayPasses();
    const before = keys;
    keys = [];
    const work = [
      ...Array.from({ length: 2 }, async () => {
        await yields();
        keys.push(await w.upload(pick(), slow));
      }),
      (async () => {
        await yields();
        await w.remove(before);
      })(),
      (async () => {
        await yields();
        const stored = await slow.put(whole(pick()));
        await noteBlob(w.db, w.orgId, stored);
      })(),
      (async () => {
        removed += await w.sweep(Date.now(), 'aa', slow);
        await yields();
        removed += await w.sweep(Date.now(), 'aa', slow);
      })(),
    ];
    await Promise.all(work);
    const rows = await w.db.selectFrom('binaryData').select('sha256').execute();
    const there = new Set(await w.blobs.list('aa'));
    for (const { sha256 } of rows) assert.ok(there.has(sha256), `round ${round}: a row names ${sha256}`);
    const readable = await readableBlobs(w.db, [w.orgId], pieces.map(hashOf));
    for (const sha256 of readable.keys()) assert.ok(there.has(sha256), `round ${round}: ${sha256} is readable`);
  }
  await w.remove(keys);
  await w.sweep(Date.now());
  await w.aDayPasses();
  removed += await w.sweep(Date.now());
  assert.deepEqual([await w.blobs.list('aa'), await w.db.selectFrom('blob').selectAll().execute()], [[], []]);
  assert.ok(removed > 0);
});
