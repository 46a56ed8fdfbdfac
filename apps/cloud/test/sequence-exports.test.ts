// Exports of sequence datasets: Parquet files of the readings that the sequences cover.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import { SequenceDatasetExportStatus as Status } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { parquetBytes } from '../src/data/parquet.ts';
import { namedBlobs } from '../src/blobs/store/owned-blobs.ts';
import { removeOldExports } from '../src/data/store/sequence-exports.ts';
import { captured, clients, range, start } from './captured-sequences.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const rowsOf = async (bytes: ArrayBuffer) => (await parquetReadObjects({ file: bytes })) as Record<string, unknown>[];
const download = async (url: string) => {
  const answer = await fetch(url);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/vnd.apache.parquet');
  return answer.arrayBuffer();
};
test('an export contains everything that the sequences cover; a caller without a link or a right gets nothing', async () => {
  await using on = await testServer();
  const { data, datasets, datasetOf, exported } = await clients(on);
  const { partId, images, part } = await captured(on);
  const other = await captured(on, 2);
  const { id } = await data.createSequence({
    partId,
    resources: [{ resourceName: 'imu', methodName: 'Readings' }, { resourceName: 'camera' }],
    sequenceTags: ['left', 'turn'],
    ...range(1, 3),
  });
  const { id: empty } = await data.createSequence({ partId, resources: [{ resourceName: 'none' }], ...range(0, 9) });
  const datasetId = await datasetOf(id, empty);
  const done = await exported(datasetId);
  assert.equal(done.status, Status.COMPLETED, done.errorMessage);
  assert.ok(done.createdAt && done.completedAt && done.expiresAt);
  assert.equal(done.errorMessage, '');
  const rows = await rowsOf(await download(done.downloadUrl));
  assert.deepEqual(
    rows
      .map(({ sequence_id, kind, resource_name, payload, binary_data_id, time_requested }) => ({
        sequence_id,
        kind,
        resource_name,
        payload: payload === null ? null : (JSON.parse(String(payload)) as unknown),
        binary_data_id,
        second: Math.floor((time_requested as Date).getTime() / 1000) - start,
      }))
      .toSorted((a, b) => a.second - b.second || String(a.kind).localeCompare(String(b.kind))),
    [1, 2].flatMap((second) => [
      {
        sequence_id: id,
        kind: 'binary',
        resource_name: 'camera',
        payload: null,
        binary_data_id: images[second],
        second,
      },
      {
        sequence_id: id,
        kind: 'tabular',
        resource_name: 'imu',
        payload: { n: second, name: 'imu' },
        binary_data_id: null,
        second,
      },
    ]),
  );
  const image = rows.find(({ kind }) => kind === 'binary');
  assert.deepEqual(
    [image?.['sequence_tags'], image?.['tags'], image?.['part_id'], image?.['file_size_bytes']],
    ['["left","turn"]', '["t"]', partId, BigInt(`${partId} 1`.length)],
  );
  assert.ok(!JSON.stringify(rows, (_, value: unknown) => String(value)).includes(other.partId));

  const { pathname, search } = new URL(done.downloadUrl);
  const get = async (path: string, token?: string) =>
    (await fetch(`${on.url}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }))
      .status;
  assert.deepEqual(
    [
      await get(pathname),
      await get(`${pathname}${search.replace(/signature=./, 'signature=_')}`),
      await get(pathname, await on.token(part)),
      await get(pathname, await on.token(on.owner)),
    ],
    [401, 401, 403, 200],
  );

  // An empty dataset exports a file without rows.
  const none = await exported(await datasetOf());
  assert.deepEqual(await rowsOf(await download(none.downloadUrl)), []);
  await datasets.deleteDataset({ id: datasetId });
  assert.equal(
    await failure(datasets.getSequenceDatasetExport({ jobId: done.jobId })),
    'NotFound DATASET_EXPORT_NOT_FOUND',
  );
  assert.equal((await fetch(done.downloadUrl)).status, 404);
});

test('captured data that are deleted are in no file any more; old exports end with their files', async () => {
  await using on = await testServer();
  const { data, datasets, datasetOf, exported } = await clients(on);
  const { partId, images } = await captured(on, 2);
  const { id } = await data.createSequence({ partId, resources: [{ resourceName: 'camera' }], ...range(0, 9) });
  const datasetId = await datasetOf(id);
  const gone = async (before: string, url: string) => {
    const found = await datasets.getSequenceDatasetExport({ jobId: before });
    assert.deepEqual([found.status, found.downloadUrl], [Status.FAILED, '']);
    assert.match(found.errorMessage, /Start the export again/);
    assert.equal((await fetch(url)).status, 404);
  };
  const first = await exported(datasetId);
  await data.deleteBinaryDataByIDs({ binaryDataIds: images.slice(0, 1) });
  await gone(first.jobId, first.downloadUrl);
  const second = await exported(datasetId);
  assert.equal((await rowsOf(await download(second.downloadUrl))).length, 1);
  await data.deleteTabularData({ organizationId: on.orgId });
  await gone(second.jobId, second.downloadUrl);

  const third = await exported(datasetId);
  const { fileSha256 } = await on.db
    .selectFrom('sequenceExport')
    .select('fileSha256')
    .where('id', '=', third.jobId)
    .executeTakeFirstOrThrow();
  assert.ok(fileSha256);
  assert.equal((await namedBlobs(on.db, [fileSha256])).size, 1, 'no sweep takes a file that an export names');
  assert.equal(await removeOldExports(on.db, Date.now() + 60_000, 100), 3);
  assert.equal((await namedBlobs(on.db, [fileSha256])).size, 0);
  assert.equal((await fetch(third.downloadUrl)).status, 404);
});

test('an export that a stopped server left is begun again; one that cannot be made fails with words', async () => {
  await using on = await testServer();
  const { data, datasets, datasetOf, ended } = await clients(on);
  const { partId } = await captured(on, 1);
  const { id } = await data.createSequence({ partId, resources: [{ resourceName: 'camera' }], ...range(0, 9) });
  const left = async (attempts: number) => {
    const row = { orgId: on.orgId, id: randomUUID(), datasetId: await datasetOf(id), state: 'running' as const };
    const createdOn = Date.now();
    await on.db
      .insertInto('sequenceExport')
      .values({
        ...row,
        attempts,
        fileSha256: null,
        sizeBytes: null,
        completedOn: null,
        createdOn: new Date(createdOn) as never,
      })
      .execute();
    return row;
  };
  const again = await left(1);
  assert.equal((await ended(again.id)).status, Status.COMPLETED);
  const stuck = await ended((await left(3)).id);
  assert.equal(stuck.status, Status.FAILED);
  assert.match(stuck.errorMessage, /3 attempts/);
  const { jobId } = await datasets.startSequenceDatasetExport({ datasetId: again.datasetId });
  assert.notEqual(jobId, again.id);
});

test('a Parquet file of many groups is read back as it was written', async () => {
  const groups = 7;
  const chunks: Uint8Array[] = [];
  const rows = async function* () {
    for (let n = 0; n < groups; n++)
      yield Array.from({ length: n * 50 }, (_, row) => ({
        name: row % 3 === 0 ? null : `${n} ${row} ${'x'.repeat(row)}`,
        time: 1_790_000_000_123_456 + row,
        count: row % 2 === 0 ? null : row,
      }));
  };
  for await (const chunk of parquetBytes({ name: 'text', time: 'time', count: 'count' }, rows())) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const read = await rowsOf(new Uint8Array(bytes).buffer);
  assert.equal(read.length, 50 * ((groups * (groups - 1)) / 2));
  assert.deepEqual(read.at(-1), {
    name: `${groups - 1} 299 ${'x'.repeat(299)}`,
    time: new Date(1_790_000_000_123),
    count: 299n,
  });
  assert.ok(chunks.length >= groups, 'each group leaves memory before the next one is read');
});
