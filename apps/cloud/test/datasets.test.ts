import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Client } from '@connectrpc/connect';
import { DataService, TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService, DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { dataServiceFor, dataset, time, upload } from './captured-uploads.ts';
import { outcome, trainingServer, type Who } from './training-server.ts';

test('datasets: names, lists, merge, deletion', async () => {
  await using server = await trainingServer();
  const client = server.client(DatasetService, 'operator');
  const foreignOwner = server.client(DatasetService, 'foreignOwner');
  const organizationId = server.own.orgId;
  const [one, two] = [await dataset(server, 'one'), await dataset(server, 'two')];
  const sequences = await dataset(server, 'seq', 'owner', DatasetType.SEQUENCE_DATA);
  await dataset(server, 'one', 'foreignOwner');
  const names = async (type?: DatasetType) =>
    (
      await client.listDatasetsByOrganizationID({ organizationId, ...(type === undefined ? {} : { type }) })
    ).datasets.map(({ name }) => name);
  assert.deepEqual(await names(), ['one', 'seq', 'two']);
  assert.deepEqual(await names(DatasetType.SEQUENCE_DATA), ['seq']);
  assert.deepEqual((await client.listDatasetsByIDs({})).datasets.length, 3, 'no ids: all that the key may see');
  assert.deepEqual(
    (await client.listDatasetsByIDs({ ids: [two, 'x', randomUUID()] })).datasets.map(({ name }) => name),
    ['two'],
  );
  assert.deepEqual((await foreignOwner.listDatasetsByIDs({ ids: [one] })).datasets, []);
  const rows: [name: string, call: () => Promise<unknown>, expected: string][] = [
    ['a name taken', () => client.createDataset({ organizationId, name: 'one' }), '6 DATASET_NAME_TAKEN'],
    ['a rename onto it', () => client.renameDataset({ id: two, name: 'one' }), '6 DATASET_NAME_TAKEN'],
    ['no name', () => client.createDataset({ organizationId, name: '' }), '3 INVALID_ARGUMENT'],
    ['no organization', () => client.createDataset({ name: 'x' }), '3 INVALID_ARGUMENT'],
    [
      'a foreign organization',
      () => client.createDataset({ organizationId: server.foreign.orgId, name: 'x' }),
      '5 ORGANIZATION_NOT_FOUND',
    ],
    [
      'a machine',
      () => server.client(DatasetService, 'machine').createDataset({ organizationId, name: 'x' }),
      '7 PERMISSION_DENIED',
    ],
    ['a foreign dataset', () => foreignOwner.renameDataset({ id: one, name: 'x' }), '5 DATASET_NOT_FOUND'],
    ['deleted by a foreign owner', () => foreignOwner.deleteDataset({ id: one }), '5 DATASET_NOT_FOUND'],
    [
      'merge of two kinds',
      () => client.mergeDatasets({ organizationId, name: 'm', datasetIds: [one, sequences] }),
      '9 DATASET_TYPE_MISMATCH',
    ],
    [
      'merge onto a name taken',
      () => client.mergeDatasets({ organizationId, name: 'two', datasetIds: [one] }),
      '6 DATASET_NAME_TAKEN',
    ],
    ['merge of nothing', () => client.mergeDatasets({ organizationId, name: 'm' }), '3 INVALID_ARGUMENT'],
    ['a rename', () => client.renameDataset({ id: two, name: 'zwei' }), 'ok'],
    ['to its own name', () => client.renameDataset({ id: two, name: 'zwei' }), 'ok'],
  ];
  for (const [name, call, expected] of rows) assert.equal(await outcome(call()), expected, name);
  await server.configure(dataServiceFor(one, two));
  const shared = await upload(server, { datasetIds: [one, two] });
  const alone = await upload(server, { datasetIds: [two] });
  const { datasetId } = await client.mergeDatasets({ organizationId, name: 'both', datasetIds: [one, two] });
  await client.deleteDataset({ id: two });
  assert.equal(await outcome(client.deleteDataset({ id: two })), '5 DATASET_NOT_FOUND');
  const data = server.client(DataService, 'owner');
  const members = await data.binaryDataByFilter({ dataRequest: { filter: { datasetId } } });
  assert.deepEqual(
    members.data.map(({ metadata }) => metadata?.binaryDataId ?? '').toSorted(),
    [shared, alone].toSorted(),
  );
});

/** Distinct outcomes. */
const all = async (of: Promise<unknown>[]): Promise<string[]> => [...new Set(await Promise.all(of.map(outcome)))];

test('data of others: not found for other organizations, denied for machines', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'd');
  const id = await upload(server, { who: 'owner', datasetIds: [datasetId] });
  const ids = { binaryDataIds: [id] };
  const box = { label: 'x', xMinNormalized: 0, yMinNormalized: 0, xMaxNormalized: 1, yMaxNormalized: 1 };
  const bboxId = (await server.client(DataService, 'owner').addBoundingBoxToImageByID({ binaryDataId: id, ...box }))
    .bboxId;
  const calls = (client: Client<typeof DataService>): Promise<unknown>[] => [
    client.binaryDataByIDs(ids),
    client.deleteBinaryDataByIDs(ids),
    client.addTagsToBinaryDataByIDs({ ...ids, tags: ['t'] }),
    client.removeTagsFromBinaryDataByIDs({ ...ids, tags: ['t'] }),
    client.addBoundingBoxToImageByID({ binaryDataId: id, ...box }),
    client.updateBoundingBox({ binaryDataId: id, bboxId, label: 'y' }),
    client.removeBoundingBoxFromImageByID({ binaryDataId: id, bboxId }),
    client.createBinaryDataSignedURL({ binaryDataId: id }),
  ];
  const lists = (client: Client<typeof DataService>): Promise<unknown>[] => [
    client.binaryDataByFilter({}),
    client.tagsByFilter({}),
    client.boundingBoxLabelsByFilter({}),
    client.deleteBinaryDataByFilter({ filter: { method: 'x' } }),
    client.addTagsToBinaryDataByFilter({ tags: ['t'] }),
    client.removeTagsFromBinaryDataByFilter({ tags: ['t'] }),
  ];
  const [foreignOwner, machine] = [server.client(DataService, 'foreignOwner'), server.client(DataService, 'machine')];
  assert.deepEqual(await all(calls(foreignOwner)), ['5 BINARY_DATA_NOT_FOUND']);
  assert.deepEqual(await all(lists(foreignOwner)), ['ok'], 'lists show what is the own: nothing');
  assert.deepEqual(await all([...calls(machine), ...lists(machine)]), ['7 PERMISSION_DENIED']);
  const add = (client: Client<typeof DataService>) => [
    client.addBinaryDataToDatasetByIDs({ datasetId, ...ids }),
    client.removeBinaryDataFromDatasetByIDs({ datasetId, ...ids }),
  ];
  assert.deepEqual(await all(add(foreignOwner)), ['5 DATASET_NOT_FOUND']);
  const theirs = await dataset(server, 't', 'foreignOwner');
  const steal = foreignOwner.addBinaryDataToDatasetByIDs({ datasetId: theirs, ...ids });
  assert.equal(await outcome(steal), '5 BINARY_DATA_NOT_FOUND');
  assert.deepEqual(
    [(await server.get(`/data/${id}`, 'foreignOwner')).status, (await server.get(`/data/${id}`, 'machine')).status],
    [404, 403],
  );
  const [datum] = (await server.client(DataService, 'owner').binaryDataByIDs(ids)).data;
  assert.deepEqual([datum?.metadata?.captureMetadata?.tags, datum?.metadata?.annotations?.bboxes[0]?.label], [[], 'x']);
});

test('fifty at once ask for one name: one gets it', async () => {
  await using server = await trainingServer();
  const results = await Promise.all(Array.from({ length: 50 }, () => outcome(dataset(server, 'same'))));
  assert.deepEqual(
    [results.filter((one) => one === 'ok').length, results.filter((one) => one === '6 DATASET_NAME_TAKEN').length],
    [1, 49],
  );
});

test('readings: exported in order, the latest, within an interval; of others nothing', async () => {
  await using server = await trainingServer();
  const { partId } = server.own;
  const sync = server.client(DataSyncService, 'machine');
  const count = 1200;
  for (let from = 0; from < count; from += 300) {
    await sync.dataCaptureUpload({
      metadata: {
        partId,
        componentType: 'rdk:component:sensor',
        componentName: 'probe',
        methodName: 'Readings',
        type: DataType.TABULAR_SENSOR,
        tags: ['cellar'],
      },
      sensorContents: Array.from({ length: 300 }, (_, n) => ({
        metadata: { timeRequested: time(from + n), timeReceived: time(from + n) },
        data: { case: 'struct' as const, value: { readings: { celsius: from + n } } },
      })),
    });
  }
  const asked = { partId, resourceName: 'probe', resourceSubtype: 'sensor', methodName: 'Readings' };
  const exported = async (more: object = {}, who: Who = 'owner'): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const one of server.client(DataService, who).exportTabularData({ ...asked, ...more })) {
      const { readings } = one.payload as { readings: { celsius: number } };
      found.push(readings.celsius);
    }
    return found;
  };
  assert.deepEqual(
    await exported(),
    Array.from({ length: count }, (_, n) => n),
  );
  assert.deepEqual(await exported({ interval: { start: time(5), end: time(7) } }), [5, 6]);
  assert.deepEqual(
    await exported({ resourceSubtype: 'rdk:component:sensor', interval: { start: time(1199) } }),
    [1199],
  );
  assert.deepEqual(await exported({ resourceSubtype: 'camera' }), []);
  assert.deepEqual(await exported({}, 'foreignOwner'), []);
  const data = server.client(DataService, 'owner');
  const latest = await data.getLatestTabularData(asked);
  assert.deepEqual([latest.timeCaptured?.seconds, latest.payload], [1199n, { readings: { celsius: 1199 } }]);
  assert.equal((await data.getLatestTabularData({ ...asked, methodName: 'Other' })).payload, undefined);
  assert.equal(await outcome(data.getLatestTabularData({ ...asked, partId: 'x' })), '5 PART_NOT_FOUND');
  assert.equal(await outcome(data.getLatestTabularData({ ...asked, resourceName: '' })), '3 INVALID_ARGUMENT');
  assert.equal(await outcome(server.client(DataService, 'runner').getLatestTabularData(asked)), '7 PERMISSION_DENIED');
});

test('readings by filter: page by page, counted, of others nothing; deleted for good, which is recorded', async () => {
  await using server = await trainingServer();
  const { partId, orgId } = server.own;
  const sync = server.client(DataSyncService, 'machine');
  const nowSeconds = Math.floor(Date.now() / 1000);
  const days = (n: number) => ({ seconds: BigInt(nowSeconds - n * 86_400), nanos: 0 });
  const send = (componentName: string, tags: string[], ages: readonly number[]) =>
    sync.dataCaptureUpload({
      metadata: {
        partId,
        componentType: 'rdk:component:sensor',
        componentName,
        methodName: 'Readings',
        type: DataType.TABULAR_SENSOR,
        tags,
      },
      sensorContents: ages.map((age) => ({
        metadata: { timeRequested: days(age), timeReceived: days(age) },
        data: { case: 'struct' as const, value: { age } },
      })),
    });
  const ages = Array.from({ length: 70 }, (_, n) => n + 1);
  await send('probe', ['cellar'], ages);
  await send('other', [], [5]);
  const data = server.client(DataService, 'owner');
  const filter = { partId, componentName: 'probe' };
  const seen: unknown[] = [];
  for (let last = ''; ;) {
    const page = await data.tabularDataByFilter({ dataRequest: { filter, last, limit: 30n } });
    if (page.data.length === 0) {
      assert.equal(page.last, last, 'it goes on being empty');
      break;
    }
    assert.equal(page.metadata.length, 1);
    assert.deepEqual(
      [
        page.metadata[0]?.partId,
        page.metadata[0]?.componentName,
        page.metadata[0]?.tags,
        page.metadata[0]?.organizationId,
      ],
      [partId, 'probe', ['cellar'], orgId],
    );
    seen.push(...page.data.map((one) => (one.data as { age: number }).age));
    last = page.last;
  }
  assert.deepEqual(seen, ages, 'newest first');
  const count = async (asked: object, who: Who = 'owner'): Promise<number> =>
    Number(
      (await server.client(DataService, who).tabularDataByFilter({ dataRequest: { filter: asked }, countOnly: true }))
        .count,
    );
  const rows: [asked: object, many: number][] = [
    [{}, 71],
    [{ componentType: 'sensor' }, 71],
    [{ componentType: 'camera' }, 0],
    [{ tagsFilter: { type: TagsFilterType.UNTAGGED } }, 1],
    [{ tagsFilter: { tags: ['cellar'] } }, 70],
    [{ interval: { start: days(10), end: days(8) } }, 2],
    [{ method: 'Other' }, 0],
    [{ mimeType: ['image/png'] }, 0],
    [{ datasetId: partId }, 0],
  ];
  for (const [asked, many] of rows) assert.equal(await count(asked), many, Object.keys(asked).join());
  assert.equal(await count({}, 'foreignOwner'), 0);
  assert.equal(await outcome(count({ organizationIds: [orgId] }, 'foreignOwner')), '5 ORGANIZATION_NOT_FOUND');

  const remove = async (more: object, who: Who = 'owner'): Promise<bigint> =>
    (await server.client(DataService, who).deleteTabularData({ organizationId: orgId, ...more })).deletedCount;
  assert.equal(await outcome(remove({}, 'foreignOwner')), '5 ORGANIZATION_NOT_FOUND');
  assert.equal(await outcome(remove({ organizationId: '' })), '3 INVALID_ARGUMENT');
  assert.equal(await remove({ deleteOlderThanDays: 60, filter: { componentName: 'probe' } }), 11n);
  assert.equal(await remove({ deleteOlderThanDays: 4_000_000 }), 0n);
  assert.deepEqual([await count(filter), await count({})], [59, 60]);
  assert.equal(await remove({ filter: { tagsFilter: { type: TagsFilterType.TAGGED } } }), 59n);
  assert.equal(await remove({}), 1n);
  assert.equal(await count({}), 0);
  const recorded = await server.db
    .selectFrom('audit')
    .select(['subject', 'details'])
    .where('action', '=', 'delete readings')
    .orderBy('id')
    .execute();
  assert.deepEqual(
    recorded.map(({ subject }) => subject),
    ['11 readings', '0 readings', '59 readings', '1 readings'],
  );
  assert.match(JSON.stringify(recorded[0]?.details), /"olderThanDays":60/);
});

test('readings with times far ahead: every one once, in pages and in the export', async () => {
  await using server = await trainingServer();
  const { partId } = server.own;
  const sync = server.client(DataSyncService, 'machine');
  // Microseconds of the year 2300 and later are not exact as numbers; those of 2300 and 9999 have 17 and 18 digits.
  const years = [10_413_792_000n, 253_402_300_000n];
  const count = 600;
  for (const seconds of years)
    await sync.dataCaptureUpload({
      metadata: {
        partId,
        componentType: 'rdk:component:sensor',
        componentName: 'probe',
        methodName: 'Readings',
        type: DataType.TABULAR_SENSOR,
      },
      sensorContents: Array.from({ length: count }, (_, n) => {
        const at = { seconds, nanos: 1_000 * Math.floor(n / 3) + 999 };
        return {
          metadata: { timeRequested: at, timeReceived: at },
          data: { case: 'struct' as const, value: { n } },
        };
      }),
    });
  const data = server.client(DataService, 'owner');
  const of = { partId, resourceName: 'probe', resourceSubtype: 'sensor', methodName: 'Readings' };
  let exported = 0;
  for await (const _ of data.exportTabularData(of)) {
    exported++;
    assert.ok(exported <= 2 * count, 'the export repeats readings');
  }
  assert.equal(exported, 2 * count);
  let listed = 0;
  for (let last = ''; ;) {
    const page = await data.tabularDataByFilter({ dataRequest: { filter: { partId }, last, limit: 100n } });
    if (page.data.length === 0) break;
    listed += page.data.length;
    assert.ok(listed <= 2 * count, 'the pages repeat readings');
    last = page.last;
  }
  assert.equal(listed, 2 * count);
});
