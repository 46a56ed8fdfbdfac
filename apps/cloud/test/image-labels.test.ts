// Which tags are labels, and what happens when images are uploaded again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataService, TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { parseDatasetLine } from '@platform/contract/job/job';
import { readBlob } from '../src/blobs/blob-store.ts';
import { dataServiceFor, dataset, upload } from './captured-uploads.ts';
import { submission } from './training-data.ts';
import { outcome, trainingServer, type TrainingServer } from './training-server.ts';

const image = async (server: TrainingServer, id: string) => {
  const { data } = await server.client(DataService, 'owner').binaryDataByIDs({ binaryDataIds: [id] });
  const metadata = data[0]?.metadata;
  assert.ok(metadata);
  const { labels, split, annotations, captureMetadata } = metadata;
  return {
    tags: captureMetadata?.tags,
    labels,
    split,
    predicted: annotations?.classifications.map(({ label }) => label),
    boxes: annotations?.bboxes.map(({ label, confidence }) => [label, confidence]),
  };
};
const countOf = async (server: TrainingServer, datasetId: string, tagsFilter: object = {}): Promise<bigint> =>
  (
    await server.client(DataService, 'owner').binaryDataByFilter({
      dataRequest: { filter: { datasetId, tagsFilter } },
      countOnly: true,
    })
  ).count;

test('capture tags and split: tags are not labels; a tag that a user adds is one', async () => {
  await using server = await trainingServer();
  const client = server.client(DataService, 'owner');
  const datasetId = await dataset(server, 'd');
  await server.configure(dataServiceFor(datasetId));
  const id = await upload(server, { at: 1, tags: ['line-3', 'split:test', 'cup'], datasetIds: [datasetId] });
  assert.deepEqual(await image(server, id), {
    tags: ['line-3', 'split:test', 'cup'],
    labels: [],
    split: 'test',
    predicted: [],
    boxes: [],
  });
  const labelled = { type: TagsFilterType.TAGGED, labelsOnly: true };
  const unlabelled = { type: TagsFilterType.UNTAGGED, labelsOnly: true };
  const cups = { type: TagsFilterType.MATCH_BY_OR, tags: ['cup'], labelsOnly: true };
  assert.deepEqual(
    await Promise.all([labelled, unlabelled, cups, { tags: ['cup'] }].map((one) => countOf(server, datasetId, one))),
    [0n, 1n, 0n, 1n],
  );
  const byOwner = await upload(server, {
    who: 'owner',
    tags: ['mug', 'split:train', 'group:left'],
    datasetIds: [datasetId],
  });
  assert.deepEqual((await image(server, byOwner)).labels, ['mug']);
  assert.deepEqual((await client.tagsByFilter({ filter: { datasetId }, labelsOnly: true })).tags, ['mug']);

  await client.addTagsToBinaryDataByIDs({ binaryDataIds: [id], tags: ['cup'] });
  assert.deepEqual(await image(server, id).then(({ tags, labels }) => [tags, labels]), [
    ['line-3', 'split:test', 'cup'],
    ['cup'],
  ]);
  assert.deepEqual((await client.tagsByFilter({ filter: { datasetId }, labelsOnly: true })).tags, ['cup', 'mug']);
  assert.deepEqual(await Promise.all([labelled, unlabelled, cups].map((one) => countOf(server, datasetId, one))), [
    2n,
    0n,
    1n,
  ]);
  await client.removeTagsFromBinaryDataByIDs({ binaryDataIds: [id], tags: ['line-3', 'cup'] });
  assert.deepEqual(await image(server, id).then(({ tags, labels }) => [tags, labels]), [['split:test'], []]);
});

test('a model is not trained on capture tags', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'd');
  await server.configure(dataServiceFor(datasetId));
  for (let n = 0; n < 20; n++) await upload(server, { at: n, tags: [n % 2 ? 'a' : 'b'], datasetIds: [datasetId] });
  const submit = server.client(MLTrainingService, 'owner').submitTrainingJob(submission(server, datasetId));
  assert.equal(await outcome(submit), '9 DATASET_EMPTY');
});

test('group: tags keep images together, stand in the manifest, and the log names a label that is not in the test', async () => {
  await using server = await trainingServer();
  const client = server.client(MLTrainingService, 'owner');
  const datasetIds = [await dataset(server, 'd')];
  for (let n = 0; n < 12; n++) {
    await upload(server, { who: 'owner', tags: ['a', `group:${n % 2 ? 'left' : 'right'}`], datasetIds });
    await upload(server, { who: 'owner', tags: ['b', `group:tray ${n % 4}`], datasetIds });
  }
  const { id } = await client.submitTrainingJob(submission(server, datasetIds[0] ?? ''));
  const version = await server.db.selectFrom('datasetVersion').select('manifestSha256').executeTakeFirstOrThrow();
  const text = (await readBlob(server.blobs, version.manifestSha256)).toString().trim();
  const lines = text.split('\n').map((line) => parseDatasetLine(JSON.parse(line)));
  const splitsOf = (group: string) => new Set(lines.filter((line) => line.group === group).map(({ split }) => split));
  for (const group of ['left', 'right']) assert.deepEqual([...splitsOf(group)], ['train'], group);
  const trays = [0, 1, 2, 3].flatMap((n) => [...splitsOf(`tray ${n}`)]);
  assert.deepEqual(trays.toSorted(), ['test', 'train', 'train', 'validation']);
  const { logs } = await client.getTrainingJobLogs({ id });
  assert.match(
    logs.map(({ message }) => message).join('\n'),
    /No image of "a" is in the test: its images are in 2 groups/,
  );
});

const box = { xMinNormalized: 0.1, yMinNormalized: 0.2, xMaxNormalized: 0.5, yMaxNormalized: 0.6 };
const send = (server: TrainingServer, datasetIds: string[], tags: string[], bboxLabels: string[] = []) =>
  server.client(DataSyncService, 'owner').dataCaptureUpload({
    metadata: { type: DataType.BINARY_SENSOR, fileExtension: 'jpg', tags, datasetIds },
    sensorContents: [
      {
        metadata: { annotations: { bboxes: bboxLabels.map((label) => ({ label, ...box })) } },
        data: { case: 'binary', value: Buffer.from('one image') },
      },
    ],
  });

test('the same bytes again in a dataset: one image with the labels, boxes and split of both', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'd');
  const other = await dataset(server, 'e');
  const first = await send(server, [datasetId], ['split:train']);
  assert.equal(first.existed, false);
  const again = await send(server, [datasetId], ['cup', 'split:test'], ['handle']);
  assert.deepEqual([again.existed, again.binaryDataId], [true, first.binaryDataId]);
  await send(server, [datasetId], ['cup', 'mug'], ['handle']);
  const { labels, split, boxes } = await image(server, first.binaryDataId);
  assert.deepEqual([labels, split, boxes], [['cup', 'mug'], 'test', [['handle', undefined]]]);
  assert.equal(await countOf(server, datasetId), 1n);

  const elsewhere = await send(server, [other], ['pen']);
  assert.notEqual(elsewhere.binaryDataId, first.binaryDataId, 'another dataset has labels of its own');
  const both = await send(server, [datasetId, other], ['lid']);
  assert.equal(both.existed, true);
  assert.deepEqual((await image(server, elsewhere.binaryDataId)).labels, ['pen', 'lid']);
  assert.deepEqual([await countOf(server, datasetId), await countOf(server, other)], [1n, 1n]);

  const third = await dataset(server, 'f');
  const atOnce = await Promise.all(['a', 'b', 'c', 'd'].map((label) => send(server, [third], [label])));
  assert.equal(new Set(atOnce.map((one) => one.binaryDataId)).size, 1);
  assert.deepEqual((await image(server, atOnce[0]?.binaryDataId ?? '')).labels.toSorted(), ['a', 'b', 'c', 'd']);
});

test('the same bytes captured twice are two images; a user’s upload labels both', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'd');
  await server.configure(dataServiceFor(datasetId));
  const bytes = Buffer.from('one image');
  const captures = [
    await upload(server, { at: 1, bytes, datasetIds: [datasetId] }),
    await upload(server, { at: 2, bytes, datasetIds: [datasetId] }),
  ];
  assert.equal(new Set(captures).size, 2);
  const { binaryDataId } = await send(server, [datasetId], ['cup']);
  assert.ok(captures.includes(binaryDataId));
  for (const id of captures) assert.deepEqual((await image(server, id)).labels, ['cup']);
  assert.equal(await countOf(server, datasetId), 2n);
});

test('predicted labels are removed on request; an edited box has no confidence', async () => {
  await using server = await trainingServer();
  const client = server.client(DataService, 'owner');
  const { binaryDataId } = await server.client(DataSyncService, 'machine').dataCaptureUpload({
    metadata: { partId: server.own.partId, componentName: 'camera', fileExtension: 'jpg', tags: ['line-3'] },
    sensorContents: [
      {
        metadata: {
          annotations: {
            classifications: [
              { label: 'cup', confidence: 0.6 },
              { label: 'pen', confidence: 0.2 },
            ],
            bboxes: [{ label: 'lid', confidence: 0.9, ...box }],
          },
        },
        data: { case: 'binary', value: Buffer.from('x') },
      },
    ],
  });
  const remove = async (tags: string[], includeClassifications: boolean): Promise<bigint> =>
    (await client.removeTagsFromBinaryDataByIDs({ binaryDataIds: [binaryDataId], tags, includeClassifications }))
      .deletedCount;
  await client.addTagsToBinaryDataByIDs({ binaryDataIds: [binaryDataId], tags: ['cup'] });
  assert.equal(await remove(['cup'], false), 1n, 'existing clients remove tags alone');
  assert.deepEqual((await image(server, binaryDataId)).predicted, ['cup', 'pen']);
  assert.deepEqual(
    (await client.tagsByFilter({ filter: { bboxLabels: ['lid'] }, labelsOnly: true })).tags,
    ['cup', 'pen'],
    'predicted labels are labels',
  );
  await client.addTagsToBinaryDataByIDs({ binaryDataIds: [binaryDataId], tags: ['cup'] });
  assert.equal(await remove(['cup', 'no'], true), 2n);
  assert.deepEqual((await image(server, binaryDataId)).predicted, ['pen']);
  const byFilter = { filter: { bboxLabels: ['lid'] }, tags: ['pen'], includeClassifications: true };
  assert.equal((await client.removeTagsFromBinaryDataByFilter(byFilter)).deletedCount, 1n);

  const { data } = await client.binaryDataByIDs({ binaryDataIds: [binaryDataId] });
  const bboxId = data[0]?.metadata?.annotations?.bboxes[0]?.id ?? '';
  const boxes = async () => (await image(server, binaryDataId)).boxes;
  await client.updateBoundingBox({ binaryDataId, bboxId, label: 'top' });
  assert.deepEqual(await boxes(), [['top', 0.9]], 'existing clients change what they name alone');
  await client.updateBoundingBox({ binaryDataId, bboxId, xMaxNormalized: 0.7, clearConfidence: true });
  assert.deepEqual(await boxes(), [['top', undefined]]);
  await client.updateBoundingBox({ binaryDataId, bboxId, confidence: 0.9, clearConfidence: true });
  assert.deepEqual(await boxes(), [['top', 0.9]], 'a confidence that is sent counts');
});
