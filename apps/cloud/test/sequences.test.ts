// Sequences: time ranges of a machine's captured data, and their datasets.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { at, captured, clients, range, start } from './captured-sequences.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('a sequence is made, changed, listed and deleted; what it covers stays', async () => {
  await using on = await testServer();
  const { data, datasetOf } = await clients(on);
  const { partId, images } = await captured(on);
  const resources = [{ resourceName: 'camera', methodName: 'ReadImage' }, { resourceName: 'imu' }];
  const { id } = await data.createSequence({ partId, resources, sequenceTags: ['left turn'], ...range(1, 3) });
  const read = async () => {
    const { sequence } = await data.getSequence({ id });
    assert.ok(sequence?.createdAt && sequence.updatedAt);
    const { startTime, endTime, sequenceTags, resources: named, datasetIds } = sequence;
    return {
      range: [Number(startTime?.seconds) - start, Number(endTime?.seconds) - start],
      tags: sequenceTags,
      resources: named.map(({ resourceName, methodName }) => `${resourceName} ${methodName}`),
      datasetIds,
    };
  };
  const made = { range: [1, 3], tags: ['left turn'], resources: ['camera ReadImage', 'imu '], datasetIds: [] };
  assert.deepEqual(await read(), made);

  // The end itself is exclusive.
  const page = await data.getSequenceBinaryData({ sequenceId: id, pageSize: 1 });
  const next = await data.getSequenceBinaryData({ sequenceId: id, pageSize: 1, pageToken: page.nextPageToken });
  const ids = [...page.data, ...next.data].map(({ metadata }) => metadata?.binaryDataId);
  assert.deepEqual([ids, next.nextPageToken], [images.slice(1, 3), '']);

  await data.updateSequence({ id, sequenceTags: [], endTime: at(start + 9), fieldMask: { paths: ['sequence_tags'] } });
  assert.deepEqual(await read(), { ...made, tags: [] }, 'only what the mask names changes');
  await data.updateSequence({ id, ...range(0, 5), fieldMask: { paths: ['start_time', 'end_time'] } });
  assert.deepEqual(await read(), { ...made, tags: [], range: [0, 5] });

  const { id: second } = await data.createSequence({ partId, resources, ...range(3, 4) });
  const datasetId = await datasetOf(id, second);
  await data.addSequencesToDataset({ datasetId, sequenceIds: [id] });
  const listed = await data.listSequences({ organizationId: on.orgId, pageSize: 1 });
  const rest = await data.listSequences({ organizationId: on.orgId, pageToken: listed.nextPageToken });
  assert.deepEqual(
    [listed.sequences.map((one) => one.id), rest.sequences.map((one) => one.id), rest.nextPageToken],
    [[second], [id], ''],
  );
  const { count, sequences } = await data.sequencesByDatasetID({ datasetId, countOnly: true });
  assert.deepEqual([count, sequences], [2n, []]);
  await data.removeSequencesFromDataset({ datasetId, sequenceIds: [second, randomUUID()] });
  await data.deleteSequence({ id });
  assert.deepEqual((await data.sequencesByDatasetID({ datasetId })).sequences, []);
  assert.equal(await failure(data.getSequence({ id })), 'NotFound SEQUENCE_NOT_FOUND');
  assert.equal((await data.binaryDataByIDs({ binaryDataIds: images })).data.length, images.length);
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  assert.deepEqual(
    entries.filter(({ action }) => action === 'delete sequence').map(({ subject }) => subject),
    [id],
  );
});

test('what no sequence can be is refused by name', async () => {
  await using on = await testServer();
  const { data, datasets, datasetOf } = await clients(on);
  const { partId } = await on.machine('m');
  const resources = [{ resourceName: 'camera' }];
  const good = { partId, resources, ...range(0, 1) };
  const { id } = await data.createSequence(good);
  // The whole calendar is a range that every protocol can represent.
  const ever = { startTime: at(-62_135_596_800), endTime: at(253_402_300_799, 999_999_999) };
  const { id: whole } = await data.createSequence({ partId, resources, ...ever });
  assert.equal((await data.getSequence({ id: whole })).sequence?.endTime?.seconds, 253_402_300_799n);
  const datasetId = await datasetOf(id);
  const plain = await datasets.createDataset({ name: 'plain', organizationId: on.orgId });
  const update = (paths: string[], of: object = {}) => data.updateSequence({ id, ...of, fieldMask: { paths } });
  const rows: [what: string, call: () => Promise<unknown>, expected: string][] = [
    ['no machine', () => data.createSequence({ ...good, partId: '' }), 'InvalidArgument INVALID_ARGUMENT'],
    ['an unknown machine', () => data.createSequence({ ...good, partId: randomUUID() }), 'NotFound PART_NOT_FOUND'],
    ['no resource', () => data.createSequence({ ...good, resources: [] }), 'InvalidArgument INVALID_ARGUMENT'],
    [
      'a resource without a name',
      () => data.createSequence({ ...good, resources: [{}] }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [
      'too many resources',
      () => data.createSequence({ ...good, resources: Array.from({ length: 101 }, () => ({ resourceName: 'a' })) }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [
      'too many tags',
      () => data.createSequence({ ...good, sequenceTags: Array(101).fill('t') }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [
      'no start',
      () => data.createSequence({ partId, resources, endTime: at(start) }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    ['an end at its start', () => data.createSequence({ ...good, ...range(1, 1) }), 'InvalidArgument INVALID_ARGUMENT'],
    ['an end moved before its start', () => update(['end_time'], range(0, -5)), 'InvalidArgument INVALID_ARGUMENT'],
    ['no field', () => update([]), 'InvalidArgument INVALID_ARGUMENT'],
    ['a field that never changes', () => update(['part_id']), 'InvalidArgument INVALID_ARGUMENT'],
    ['resources cleared', () => update(['resources']), 'InvalidArgument INVALID_ARGUMENT'],
    ['no id', () => data.getSequence({}), 'NotFound SEQUENCE_NOT_FOUND'],
    [
      'an unknown sequence for a dataset',
      () => data.addSequencesToDataset({ datasetId, sequenceIds: [randomUUID()] }),
      'NotFound SEQUENCE_NOT_FOUND',
    ],
    [
      'a dataset of images',
      () => data.addSequencesToDataset({ datasetId: plain.id, sequenceIds: [id] }),
      'FailedPrecondition DATASET_TYPE_MISMATCH',
    ],
    [
      'an export of images',
      () => datasets.startSequenceDatasetExport({ datasetId: plain.id }),
      'FailedPrecondition DATASET_TYPE_MISMATCH',
    ],
    ['an export of nothing', () => datasets.startSequenceDatasetExport({}), 'InvalidArgument INVALID_ARGUMENT'],
    [
      'an unknown export',
      () => datasets.getSequenceDatasetExport({ jobId: randomUUID() }),
      'NotFound DATASET_EXPORT_NOT_FOUND',
    ],
    [
      'a token of another list',
      () => data.listSequences({ organizationId: on.orgId, pageToken: 'eA' }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
  ];
  for (const [what, call, expected] of rows) assert.equal(await failure(call()), expected, what);
});

test('sequences do not exist for foreign callers, and machines have none', async () => {
  await using on = await testServer();
  const { data } = await clients(on);
  const { partId, part } = await on.machine('m');
  const { id } = await data.createSequence({ partId, resources: [{ resourceName: 'a' }], ...range(0, 1) });
  await assert.rejects((await on.client(DataService, part)).getSequence({ id }), (error) => {
    assert.equal(ConnectError.from(error).code, Code.PermissionDenied);
    return true;
  });
});
