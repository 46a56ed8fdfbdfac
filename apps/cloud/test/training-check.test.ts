// A check before a submit counts the images that the training uses, and says why it leaves out the rest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { datasetOf } from './training-data.ts';
import { outcome, trainingServer } from './training-server.ts';

test('images with several labels of a single-label model are not counted, and the check says so', async () => {
  await using server = await trainingServer();
  const training = server.client(MLTrainingService, 'owner');
  const datasetId = await datasetOf(server, { a: 12, b: 12, 'a+c': 8 }, 'two labels');
  const check = async (modelType: ModelType, tags: string[]) => {
    const request = { organizationId: server.own.orgId, datasetId, modelType, tags };
    const { trainImages, validationImages, testImages, advice } = await training.checkTrainingData(request);
    return { images: trainImages + validationImages + testImages, advice };
  };
  const single = ModelType.SINGLE_LABEL_CLASSIFICATION;
  assert.deepEqual(await check(single, ['a', 'b']), { images: 32, advice: [] });
  assert.deepEqual(await check(single, ['a', 'b', 'c']), {
    images: 24,
    advice: [
      'All images with the label "c" (8) carry another of these labels, too, and are left out: the model will not know it.',
      '8 images carry several of these labels and will be left out. A multi-label model can use them.',
    ],
  });
  assert.equal((await check(ModelType.MULTI_LABEL_CLASSIFICATION, ['a', 'b', 'c'])).images, 32);
  const { advice } = await check(single, ['a', 'b', 'split:val']);
  const alike = await check(single, ['a', 'b', 'A ']);
  assert.match(alike.advice[0] ?? '', /^These labels look alike, .*: "a", "A "\. Merge them/);
  assert.match(advice[0] ?? '', /^"split:val" is a label, and neither .*: write split:validation; /);
});

test('a tag that is nearly a split: or group: tag is refused with the right one', async () => {
  await using server = await trainingServer();
  const client = server.client(DataService, 'owner');
  const datasetId = await datasetOf(server, { a: 1 }, 'one');
  const { data } = await client.binaryDataByFilter({ dataRequest: { filter: { datasetId } } });
  const binaryDataIds = [data[0]?.metadata?.binaryDataId ?? ''];
  for (const tag of ['split:val', 'Split:Train', 'split:foo', 'group:', 'spilt:test'])
    assert.equal(await outcome(client.addTagsToBinaryDataByIDs({ binaryDataIds, tags: [tag] })), '3 INVALID_ARGUMENT');
  await assert.rejects(
    client.addTagsToBinaryDataByFilter({ filter: { datasetId }, tags: ['cup', 'split:val'] }),
    /tags\[1\].*split:val.*write split:validation/,
  );
  await client.addTagsToBinaryDataByIDs({ binaryDataIds, tags: ['split:validation', 'group:left'] });
});
