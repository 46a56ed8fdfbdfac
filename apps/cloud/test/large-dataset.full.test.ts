import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { parseDatasetLine } from '@platform/contract/job/job';
import { submission } from './training-data.ts';
import { trainingServer } from './training-server.ts';

const images = 100_000;

test('a dataset of a hundred thousand images: filled in one call, frozen and queued, all of it and in order', async (t) => {
  await using server = await trainingServer();
  const { orgId, locationId } = server.own;
  const { id: datasetId } = await server
    .client(DatasetService, 'owner')
    .createDataset({ organizationId: orgId, name: 'large' });
  await sql`
    insert into binary_data (org_id, id, location_id, sha256, size_bytes, file_ext, tags, time_requested, time_received)
    select ${orgId}::uuid, gen_random_uuid(), ${locationId}, encode(sha256(n::text::bytea), 'hex'), 1000, '.jpg',
           array[case n % 3 when 0 then 'a' when 1 then 'b' else 'c' end], now(), now()
      from generate_series(1, ${images}::integer) n`.execute(server.db);
  await sql`
    insert into bounding_box (org_id, id, binary_id, label, x_min, y_min, x_max, y_max)
    select org_id, gen_random_uuid(), id, 'a', 0.1, 0.1, 0.5, 0.5 from binary_data`.execute(server.db);
  await sql`analyze`.execute(server.db);
  const { rows } = await sql<{ id: string }>`select id from binary_data`.execute(server.db);
  const binaryDataIds = rows.map(({ id }) => `${orgId}/${locationId}/${id}`);

  const spent = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const [start, before] = [performance.now(), process.memoryUsage.rss()];
    const result = await work();
    const mib = Math.round((process.memoryUsage.rss() - before) / 2 ** 20);
    t.diagnostic(`${what}: ${Math.round(performance.now() - start)} ms, ${mib} MiB more`);
    return result;
  };
  const data = server.client(DataService, 'owner');
  await spent('add all', () => data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds }));
  await spent('add all again', () => data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds }));
  const training = server.client(MLTrainingService, 'owner');
  const submit = (modelVersion: string, modelType: ModelType, tags: string[]) =>
    spent(`submit ${ModelTypeName(modelType)}`, () =>
      training.submitTrainingJob(submission(server, datasetId, { modelVersion, modelType, tags })),
    );
  await submit('1', ModelType.SINGLE_LABEL_CLASSIFICATION, ['a', 'b', 'c']);
  await submit('2', ModelType.OBJECT_DETECTION, ['a']);
  const version = await server.db
    .selectFrom('datasetVersion')
    .select(['manifestSha256', 'counts'])
    .executeTakeFirstOrThrow();
  assert.deepEqual(version.counts['splits'], { train: 70_000, validation: 15_000, test: 15_000 });
  const seen = { lines: 0, last: '' };
  for await (const text of createInterface({ input: await server.blobs.get(version.manifestSha256) })) {
    const { sha256 } = parseDatasetLine(JSON.parse(text));
    assert.ok(seen.last < sha256);
    seen.last = sha256;
    seen.lines++;
  }
  assert.equal(seen.lines, images);
});

const ModelTypeName = (type: ModelType): string =>
  Object.entries(ModelType).find(([, number]) => number === type)?.[0] ?? '?';
