import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Client } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { parseDatasetLine } from '@platform/contract/job/job';
import { readBlob } from '../src/blobs/blob-store.ts';
import { datasetOf, submission } from './training-data.ts';
import { outcome, trainingServer, type TrainingServer } from './training-server.ts';

const send = async (
  server: TrainingServer,
  of: { bytes?: Uint8Array; tags?: string[]; name?: string; datasetIds?: string[] } = {},
) =>
  (
    await server.client(DataSyncService, 'owner').dataCaptureUpload({
      metadata: {
        partId: server.own.partId,
        type: DataType.BINARY_SENSOR,
        fileExtension: 'png',
        fileName: of.name ?? '',
        tags: of.tags ?? [],
        datasetIds: of.datasetIds ?? [],
      },
      sensorContents: [{ data: { case: 'binary', value: of.bytes ?? randomBytes(8) } }],
    })
  ).binaryDataId;

const tags: [name: string, tags: string[], expected: string][] = [
  ['an empty one', [''], '3 INVALID_ARGUMENT'],
  ['one of 129 characters', ['x'.repeat(129)], '3 INVALID_ARGUMENT'],
  ['one of 128', ['x'.repeat(128)], 'ok'],
  ['one with a line break', ['a\nb'], '3 INVALID_ARGUMENT'],
  ['one with NUL', ['a\0b'], '3 INVALID_ARGUMENT'],
  ['a thousand', Array.from({ length: 1000 }, (_, n) => `t${n}`), 'ok'],
  ['a thousand and one', Array.from({ length: 1001 }, (_, n) => `t${n}`), '3 INVALID_ARGUMENT'],
  ['the same twice', ['a', 'a'], 'ok'],
  ['other scripts and emoji', ['größe', '杯子', '☕️', 'كوب'], 'ok'],
];
for (const [name, list, expected] of tags) {
  test(`tags: ${name}: ${expected}`, async () => {
    await using server = await trainingServer();
    const id = await send(server);
    const data = server.client(DataService, 'owner');
    assert.equal(await outcome(data.addTagsToBinaryDataByIDs({ binaryDataIds: [id, id], tags: list })), expected);
    const { data: rows } = await data.binaryDataByIDs({ binaryDataIds: [id] });
    assert.deepEqual(rows[0]?.metadata?.captureMetadata?.tags, expected === 'ok' ? [...new Set(list)] : []);
  });
}

const box = { label: 'cup', xMinNormalized: 0.1, yMinNormalized: 0.1, xMaxNormalized: 0.5, yMaxNormalized: 0.5 };
const boxes: [name: string, change: Partial<typeof box>, expected: string][] = [
  ['a good one', {}, 'ok'],
  ['the whole image', { xMinNormalized: 0, yMinNormalized: 0, xMaxNormalized: 1, yMaxNormalized: 1 }, 'ok'],
  ['left of the image', { xMinNormalized: -0.01 }, '3 INVALID_ARGUMENT'],
  ['right of it', { xMaxNormalized: 1.01 }, '3 INVALID_ARGUMENT'],
  ['above it', { yMinNormalized: -1 }, '3 INVALID_ARGUMENT'],
  ['below it', { yMaxNormalized: 2 }, '3 INVALID_ARGUMENT'],
  ['without width', { xMaxNormalized: 0.1 }, '3 INVALID_ARGUMENT'],
  ['upside down', { yMinNormalized: 0.6 }, '3 INVALID_ARGUMENT'],
  ['not a number', { xMinNormalized: Number.NaN }, '3 INVALID_ARGUMENT'],
  ['infinite', { xMaxNormalized: Infinity }, '3 INVALID_ARGUMENT'],
  ['in pixels', { xMinNormalized: 10, xMaxNormalized: 200 }, '3 INVALID_ARGUMENT'],
  ['without a label', { label: '' }, '3 INVALID_ARGUMENT'],
  ['with too long a label', { label: 'x'.repeat(129) }, '3 INVALID_ARGUMENT'],
];
test('bounding boxes: what is refused, by the call and in an upload alike', async () => {
  await using server = await trainingServer();
  const id = await send(server);
  const data = server.client(DataService, 'owner');
  const upload = (bbox: typeof box) =>
    server.client(DataSyncService, 'owner').dataCaptureUpload({
      metadata: { partId: server.own.partId, type: DataType.BINARY_SENSOR },
      sensorContents: [
        { metadata: { annotations: { bboxes: [bbox] } }, data: { case: 'binary', value: randomBytes(8) } },
      ],
    });
  for (const [name, change, expected] of boxes) {
    const one = { ...box, ...change };
    assert.equal(await outcome(data.addBoundingBoxToImageByID({ binaryDataId: id, ...one })), expected, name);
    assert.equal(await outcome(upload(one)), expected, `${name}, uploaded`);
  }
});

test('the same ids twice, unknown and malformed ones: once, and not found; then nothing is added', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, {});
  const data = server.client(DataService, 'owner');
  const id = await send(server);
  const count = async () =>
    Number((await data.binaryDataByFilter({ dataRequest: { filter: { datasetId } }, countOnly: true })).count);
  assert.equal(await outcome(data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [id, id, id] })), 'ok');
  assert.equal(await count(), 1);
  const [orgId, locationId] = id.split('/');
  const other = await send(server);
  for (const bad of [`${orgId}/${locationId}/${randomUUID()}`, 'x', '', `${id}/`, id.replace('-', '_')]) {
    const call = data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [other, bad] });
    assert.equal(await outcome(call), '5 BINARY_DATA_NOT_FOUND', bad);
  }
  assert.equal(await count(), 1);
});

const names: [name: string, text: string, expected: string][] = [
  ['other scripts', '数据集 größe ☕️', 'ok'],
  ['empty', '', '3 INVALID_ARGUMENT'],
  ['129 characters', 'x'.repeat(129), '3 INVALID_ARGUMENT'],
  ['a line break', 'a\nb', '3 INVALID_ARGUMENT'],
  ['markup', '<script>alert(1)</script>', 'ok'],
];
for (const [name, text, expected] of names) {
  test(`name of a dataset: ${name}: ${expected}`, async () => {
    await using server = await trainingServer();
    const datasets: Client<typeof DatasetService> = server.client(DatasetService, 'owner');
    assert.equal(await outcome(datasets.createDataset({ organizationId: server.own.orgId, name: text })), expected);
    const { datasets: all } = await datasets.listDatasetsByOrganizationID({ organizationId: server.own.orgId });
    assert.deepEqual(
      all.map((one) => one.name),
      expected === 'ok' ? [text] : [],
    );
  });
}

test('an upload accepts any bytes, even none, as an image; a job is queued, and its trainer checks them', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const bad: [name: string, bytes: Uint8Array][] = [
    ['zero bytes.png', new Uint8Array(0)],
    ['corrupt.jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16])],
    ['../../etc/passwd', Buffer.from('text')],
    ['ünïcödé ☕.gif', Buffer.from('GIF89a')],
    ['200 megapixels.png', Buffer.from('89504e470d0a1a0a0000000d49484452000036ee000037000802000000', 'hex')],
  ];
  for (const [name, bytes] of bad) await send(server, { name, bytes, tags: ['a'], datasetIds: [datasetId] });
  const training = server.client(MLTrainingService, 'owner');
  await training.submitTrainingJob(submission(server, datasetId));
  const version = await server.db.selectFrom('datasetVersion').select('manifestSha256').executeTakeFirstOrThrow();
  const lines = (await readBlob(server.blobs, version.manifestSha256)).toString().trim().split('\n');
  const found = lines.map((line) => parseDatasetLine(JSON.parse(line)).file_name);
  for (const [name] of bad) assert.ok(found.includes(name), name);
});

const labelled: [name: string, counts: Record<string, number>, tags: string[], type: ModelType, expected: string][] = [
  ['no images', {}, ['a', 'b'], ModelType.SINGLE_LABEL_CLASSIFICATION, '9 DATASET_EMPTY'],
  ['no labels at all', { '': 30 }, ['a', 'b'], ModelType.SINGLE_LABEL_CLASSIFICATION, '9 DATASET_EMPTY'],
  ['one label alone', { a: 30 }, ['a'], ModelType.SINGLE_LABEL_CLASSIFICATION, '9 TOO_FEW_LABELS'],
  [
    'one label alone, several asked for',
    { a: 30 },
    ['a', 'b'],
    ModelType.MULTI_LABEL_CLASSIFICATION,
    '9 TOO_FEW_LABELS',
  ],
  ['tags but no boxes', { a: 30 }, ['a'], ModelType.OBJECT_DETECTION, '9 DATASET_EMPTY'],
];
for (const [name, counts, wanted, modelType, expected] of labelled) {
  test(`a submit of ${name}: ${expected}`, async () => {
    await using server = await trainingServer();
    const datasetId = await datasetOf(server, counts);
    const training = server.client(MLTrainingService, 'owner');
    const call = training.submitTrainingJob(submission(server, datasetId, { tags: wanted, modelType }));
    assert.equal(await outcome(call), expected);
    assert.deepEqual(await server.db.selectFrom('modelVersionClaim').selectAll().execute(), [], 'nothing is claimed');
  });
}
