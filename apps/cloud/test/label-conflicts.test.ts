// Two users label the same image: no label is overwritten unseen, and a repeated call changes nothing twice.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { dataset, upload } from './captured-uploads.ts';
import { outcome, trainingServer } from './training-server.ts';

const labelledImage = async (server: Awaited<ReturnType<typeof trainingServer>>) => {
  const client = server.client(DataService, 'owner');
  const datasetId = await dataset(server, 'd');
  const id = await upload(server, { who: 'owner', tags: ['split:test'], datasetIds: [datasetId] });
  const read = async () => {
    const { data } = await client.binaryDataByIDs({ binaryDataIds: [id] });
    return data[0]?.metadata;
  };
  return {
    id,
    client,
    labels: async () => (await read())?.labels.toSorted(),
    boxes: async () =>
      ((await read())?.annotations?.bboxes ?? []).map(({ id: box, label, xMinNormalized }) => [
        box,
        label,
        xMinNormalized,
      ]),
    change: (expected: string[], add: string[], remove: string[] = []) =>
      client.addTagsToBinaryDataByIDs({
        binaryDataIds: [id],
        tags: add,
        removeLabels: remove,
        expectedLabels: { labels: expected },
      }),
  };
};

test('labels change only where they are as expected, or as they result', async () => {
  await using server = await trainingServer();
  const { labels, change, client, id } = await labelledImage(server);
  await change([], ['cup']);
  await change([], ['cup']);
  assert.deepEqual(await labels(), ['cup'], 'the repeated call does not conflict');
  assert.equal(await outcome(change([], ['mug'])), '9 LABELS_CHANGED');
  assert.deepEqual(await labels(), ['cup']);
  await change(['cup'], ['mug'], ['cup']);
  assert.deepEqual(await labels(), ['mug']);
  await assert.rejects(change(['cup'], ['plate'], ['cup']), /they are "mug", not "cup"/);
  await change(['mug'], [], ['mug']);
  assert.deepEqual(await labels(), []);
  const { data } = await client.binaryDataByIDs({ binaryDataIds: [id] });
  assert.equal(data[0]?.metadata?.split, 'test', 'a split stays: it is not a label');
});

test('labels beyond the limit of a call are refused with their number', async () => {
  await using server = await trainingServer();
  const { labels, change } = await labelledImage(server);
  const many = Array.from({ length: 1_001 }, (_, n) => `l${n}`);
  await assert.rejects(change([], ['cup'], many), /remove_labels is not valid: 1001 labels; at most 1000 in one call/);
  await assert.rejects(change(many, ['cup']), /expected_labels is not valid: 1001 labels; at most 1000 in one call/);
  assert.equal(await outcome(change([], ['cup'], ['\0'])), '3 INVALID_ARGUMENT');
  await change([], ['cup'], many.slice(1));
  assert.deepEqual(await labels(), ['cup']);
});

test('of two users who answer at once, one gets the conflict', async () => {
  await using server = await trainingServer();
  const { labels, change } = await labelledImage(server);
  const both = await Promise.all([outcome(change([], ['cup'])), outcome(change([], ['mug']))]);
  assert.equal(both.filter((one) => one === '9 LABELS_CHANGED').length, 1);
  assert.equal((await labels())?.length, 1);
});

test('a box with an ID of the caller is added once, and changes only where it is as expected', async () => {
  await using server = await trainingServer();
  const { id: binaryDataId, client, boxes } = await labelledImage(server);
  const bboxId = randomUUID();
  const box = { label: 'cup', xMinNormalized: 0.25, yMinNormalized: 0.25, xMaxNormalized: 0.5, yMaxNormalized: 0.5 };
  for (const _ of [1, 2])
    assert.equal((await client.addBoundingBoxToImageByID({ binaryDataId, bboxId, ...box })).bboxId, bboxId);
  assert.deepEqual(await boxes(), [[bboxId, 'cup', 0.25]]);
  const other = await upload(server, { who: 'owner', at: 7, tags: [], datasetIds: [] });
  assert.equal(
    await outcome(client.addBoundingBoxToImageByID({ binaryDataId: other, bboxId, ...box })),
    '5 BINARY_DATA_NOT_FOUND',
    'the box of another image',
  );
  await client.updateBoundingBox({ binaryDataId, bboxId, label: 'mug', expected: box });
  await client.updateBoundingBox({ binaryDataId, bboxId, label: 'mug', expected: box });
  assert.equal(
    await outcome(client.updateBoundingBox({ binaryDataId, bboxId, label: 'plate', expected: box })),
    '9 BOUNDING_BOX_CHANGED',
  );
  const removal = { binaryDataId, bboxId };
  assert.equal(
    await outcome(client.removeBoundingBoxFromImageByID({ ...removal, expected: box })),
    '9 BOUNDING_BOX_CHANGED',
  );
  assert.deepEqual(await boxes(), [[bboxId, 'mug', 0.25]]);
  await client.removeBoundingBoxFromImageByID({ ...removal, expected: { ...box, label: 'mug' } });
  assert.deepEqual(await boxes(), []);
  const wrong = client.addBoundingBoxToImageByID({ binaryDataId, bboxId: 'one', ...box });
  assert.equal(await outcome(wrong), '3 INVALID_ARGUMENT');
});
