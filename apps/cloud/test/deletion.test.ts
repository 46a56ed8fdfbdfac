// Deleting calls require a condition, and the audit log keeps them with counts.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { DataService, TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { dataset, upload } from './captured-uploads.ts';
import { outcome, trainingServer } from './training-server.ts';

const epoch = { seconds: 0n, nanos: 0 };

test('a deletion by filter needs a condition besides the organization', async () => {
  await using server = await trainingServer();
  await upload(server, { at: 1 });
  const client = server.client(DataService, 'owner');
  const empty = [
    {},
    { filter: {} },
    { filter: { organizationIds: [server.own.orgId] } },
    { filter: { interval: {} } },
    { filter: { tagsFilter: { type: TagsFilterType.UNSPECIFIED } } },
    { filter: { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: [] } } },
    { filter: { locationIds: [], mimeType: [], bboxLabels: [], robotName: '', partId: '', datasetId: '' } },
  ];
  for (const request of empty) {
    const heard = await outcome(client.deleteBinaryDataByFilter(request));
    assert.equal(heard, '3 FILTER_EMPTY', JSON.stringify(request));
  }
  assert.equal((await client.binaryDataByFilter({ countOnly: true })).count, 1n);
  const denied = server.client(DataService, 'machine').deleteBinaryDataByFilter({});
  assert.equal(await outcome(denied), '7 PERMISSION_DENIED', 'rights are checked first');
  const all = { organizationIds: [server.own.orgId], interval: { start: epoch } };
  assert.equal((await client.deleteBinaryDataByFilter({ filter: all })).deletedCount, 1n);
});

test('every deletion of data and datasets is in the audit log, with counts; one of nothing is not', async () => {
  await using server = await trainingServer();
  const [data, datasets] = [server.client(DataService, 'owner'), server.client(DatasetService, 'owner')];
  const datasetId = await dataset(server, 'd');
  const ids = await Promise.all([1, 2, 3].map((at) => upload(server, { at, bytes: randomBytes(20) })));
  const [first = '', second = ''] = ids;
  await data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: ids });
  await data.deleteBinaryDataByIDs({ binaryDataIds: [first] });
  await data.deleteBinaryDataByIDs({ binaryDataIds: [first] });
  await data.deleteBinaryDataByFilter({ filter: { datasetId, interval: { end: { seconds: 3n, nanos: 0 } } } });
  await datasets.deleteDataset({ id: datasetId });
  const entries = await server.db.selectFrom('audit').select(['orgId', 'action', 'subject', 'details']).execute();
  const { orgId } = server.own;
  const end = '1970-01-01T00:00:03Z';
  assert.deepEqual(
    entries.map(({ action, subject, details }) => [action, subject, details]),
    [
      ['delete captured data', orgId, { by: 'ids', ids: [first.split('/')[2]], count: 1, size_bytes: 20 }],
      [
        'delete captured data',
        orgId,
        { by: 'filter', filter: { datasetId, interval: { end } }, count: 1, size_bytes: 20 },
      ],
      ['delete dataset', datasetId, { name: 'd', members: 1 }],
    ],
    second,
  );
  assert.ok(entries.every((entry) => entry.orgId === orgId));
});
