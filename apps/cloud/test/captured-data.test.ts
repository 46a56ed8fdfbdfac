import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { DataService, Order, TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import {
  DataSyncService,
  DataType,
  type FileUploadRequestSchema,
} from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { systemClock } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { dataServiceFor, dataset, pages, time, type Upload, upload } from './captured-uploads.ts';
import { bearer, outcome, trainingServer } from './training-server.ts';

test('pages end with empty ones and hold each datum once, also where times are equal', async () => {
  await using server = await trainingServer();
  const ids: string[] = [];
  for (let n = 0; n < 7; n++)
    ids.push(await upload(server, { at: 1_700_000_000 + Math.floor(n / 3), bytes: randomBytes(20) }));
  const client = server.client(DataService, 'owner');
  for (const sortOrder of [Order.ASCENDING, Order.DESCENDING, Order.UNSPECIFIED]) {
    const found = await pages(client, { dataRequest: { limit: 3n, sortOrder } });
    assert.deepEqual(
      found.map((page) => page.length),
      [3, 3, 1, 0, 0],
    );
    assert.deepEqual(found.flat().toSorted(), ids.toSorted());
    const first = found.flat()[0] ?? '';
    assert.equal(ids.indexOf(first) < 3, sortOrder === Order.ASCENDING, 'newest first unless asked otherwise');
  }
  const count = await client.binaryDataByFilter({ countOnly: true });
  assert.deepEqual([count.count, count.totalSizeBytes, count.data.length], [7n, 140n, 0]);
  assert.equal(
    await outcome(client.binaryDataByFilter({ dataRequest: { last: 'bm9uc2Vuc2U' } })),
    '3 INVALID_ARGUMENT',
  );
  assert.deepEqual((await server.client(DataService, 'foreignOwner').binaryDataByFilter({})).data, []);
});

test('a datum comes back as it was sent', async () => {
  await using server = await trainingServer();
  const sync = server.client(DataSyncService, 'machine');
  const bytes = randomBytes(300_000);
  const { binaryDataId, fileId } = await sync.streamingDataCaptureUpload(
    (async function* parts() {
      yield await Promise.resolve({
        uploadPacket: {
          case: 'metadata' as const,
          value: {
            uploadMetadata: {
              partId: server.own.partId,
              componentName: 'camera',
              methodName: 'GetImages',
              fileName: 'a/b.jpeg',
              tags: ['x', 'y', 'x'],
              methodParameters: {
                p: { typeUrl: 'type.googleapis.com/google.protobuf.StringValue', value: Buffer.from([10, 1, 65]) },
              },
            },
            sensorMetadata: {
              timeRequested: time(1_700_000_000),
              annotations: {
                bboxes: [
                  {
                    label: 'cup',
                    xMinNormalized: 0,
                    yMinNormalized: 0.5,
                    xMaxNormalized: 0.25,
                    yMaxNormalized: 1,
                    confidence: 0,
                  },
                ],
                classifications: [{ label: 'kitchen', confidence: 0.5 }],
              },
            },
          },
        },
      });
      for (let at = 0; at < bytes.length; at += 65_536)
        yield { uploadPacket: { case: 'data' as const, value: bytes.subarray(at, at + 65_536) } };
    })(),
  );
  assert.equal(binaryDataId, `${server.own.orgId}/${server.own.locationId}/${fileId}`);
  const older = { fileId, organizationId: server.own.orgId, locationId: server.own.locationId };
  const client = server.client(DataService, 'operator');
  const { data } = await client.binaryDataByIDs({
    binaryDataIds: [binaryDataId],
    binaryIds: [older],
    includeBinary: true,
  });
  assert.equal(data.length, 2);
  for (const { binary, metadata } of data) {
    assert.deepEqual(Buffer.from(binary), bytes);
    assert.deepEqual(metadata?.timeRequested, { $typeName: 'google.protobuf.Timestamp', ...time(1_700_000_000) });
    assert.deepEqual(
      [
        metadata?.fileName,
        metadata?.fileExt,
        metadata?.captureMetadata?.mimeType,
        metadata?.fileSizeBytes,
        metadata?.id,
      ],
      ['a/b.jpeg', '.jpeg', 'image/jpeg', 300_000n, fileId],
    );
    assert.deepEqual(metadata?.captureMetadata?.tags, ['x', 'y']);
    assert.deepEqual([...(metadata?.captureMetadata?.methodParameters['p']?.value ?? [])], [10, 1, 65]);
    assert.deepEqual([metadata?.captureMetadata?.robotName, metadata?.captureMetadata?.partName], ['Rover', 'main']);
    const [box] = metadata?.annotations?.bboxes ?? [];
    assert.deepEqual([box?.label, box?.xMaxNormalized, box?.confidence], ['cup', 0.25, 0]);
    assert.deepEqual(
      metadata?.annotations?.classifications.map(({ label }) => label),
      ['kitchen'],
    );
    const path = (metadata?.uri ?? '').slice(server.url.length);
    const answer = await server.get(path, 'operator', { range: 'bytes=0-9' });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [206, 'image/jpeg']);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes.subarray(0, 10));
  }
});

test('uploads: tags and datasets, all or nothing; a file in a stream; not an image', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'd');
  const foreignId = await dataset(server, 'd', 'foreignOwner');
  const sequences = await dataset(server, 's', 'owner', DatasetType.SEQUENCE_DATA);
  const unnamed = await dataset(server, 'unnamed');
  await server.configure(dataServiceFor(datasetId));
  const rows: [name: string, of: Upload, expected: string][] = [
    ['a dataset that the configuration does not name', { datasetIds: [datasetId, unnamed] }, '7 RESOURCE_NOT_NAMED'],
    ['into a dataset', { datasetIds: [datasetId], tags: ['a'] }, 'ok'],
    ['bytes that are not an image', { datasetIds: [datasetId], bytes: Buffer.from('x') }, 'ok'],
    ['an unknown dataset', { datasetIds: [datasetId, randomUUID()] }, '5 DATASET_NOT_FOUND'],
    ['no id at all', { datasetIds: ['nonsense'] }, '5 DATASET_NOT_FOUND'],
    ['a foreign dataset', { datasetIds: [foreignId] }, '5 DATASET_NOT_FOUND'],
    ['a dataset of sequences', { datasetIds: [sequences] }, '9 DATASET_TYPE_MISMATCH'],
    ['an unknown part', { partId: randomUUID() }, '5 PART_NOT_FOUND'],
    ['a foreign part', { partId: server.foreign.partId }, '5 PART_NOT_FOUND'],
    ['a foreign part, by a key', { partId: server.foreign.partId, who: 'owner' }, '5 PART_NOT_FOUND'],
    ['neither part nor dataset', { partId: '', who: 'owner' }, '3 INVALID_ARGUMENT'],
    ['without a part, for a dataset', { partId: '', who: 'owner', datasetIds: [datasetId] }, 'ok'],
    ['a tag that is not text', { tags: ['a\0'] }, '3 INVALID_ARGUMENT'],
  ];
  for (const [name, of, expected] of rows) assert.equal(await outcome(upload(server, of)), expected, name);
  const members = await server
    .client(DataService, 'owner')
    .binaryDataByFilter({ dataRequest: { filter: { datasetId } } });
  assert.equal(members.data.length, 3);
  assert.equal(
    (await server.client(DataService, 'owner').binaryDataByFilter({ countOnly: true })).count,
    3n,
    'refused uploads leave nothing',
  );

  const sync = server.client(DataSyncService, 'owner');
  type Part = MessageInitShape<typeof FileUploadRequestSchema>;
  const send = (...parts: Part[]) =>
    sync.fileUpload(
      (async function* all() {
        for (const part of parts) yield await Promise.resolve(part);
      })(),
    );
  const metadata: Part = {
    uploadPacket: {
      case: 'metadata',
      value: { partId: server.own.partId, fileName: 'notes.txt', type: DataType.FILE },
    },
  };
  const contents: Part = { uploadPacket: { case: 'fileContents', value: { data: Buffer.from('text') } } };
  const { binaryDataId } = await send(metadata, contents, contents);
  assert.equal(await (await server.get(`/data/${binaryDataId}`, 'owner')).text(), 'texttext');
  assert.equal(await outcome(send(contents)), '3 INVALID_ARGUMENT');
  assert.equal(await outcome(send(metadata, contents, metadata)), '3 INVALID_ARGUMENT');
  assert.equal(await outcome(send()), '3 INVALID_ARGUMENT');
});

test('what a machine sends again is stored once', async () => {
  await using server = await trainingServer();
  const again = { at: 1_700_000_000, bytes: Buffer.from('same'), tags: ['a'] };
  const first = await upload(server, again);
  assert.equal(await upload(server, again), first);
  assert.equal(
    (await Promise.all([1, 2, 3, 4].map(() => upload(server, again)))).every((id) => id === first),
    true,
  );
  assert.notEqual(await upload(server, { ...again, name: 'other' }), first);
  assert.notEqual(await upload(server, { ...again, who: 'owner' }), first, 'a user may intend it');

  const datasetId = await dataset(server, 'd');
  const named: Upload = { who: 'owner', uploadId: 'u1', bytes: Buffer.from('x'), datasetIds: [datasetId] };
  const ids = await Promise.all([1, 2, 3, 4].map(() => upload(server, named)));
  assert.equal(new Set(ids).size, 1, 'an id that the sender chose is stored once, whoever sends it');
  const other = await dataset(server, 'e');
  assert.equal(await upload(server, { ...named, datasetIds: [other] }), ids[0]);
  const [datum] = (await server.client(DataService, 'owner').binaryDataByIDs({ binaryDataIds: [ids[0] ?? ''] })).data;
  assert.deepEqual(datum?.metadata?.datasetIds.toSorted(), [datasetId, other].toSorted());
  assert.notEqual(await upload(server, { ...named, datasetIds: [], uploadId: 'u2' }), ids[0]);
  assert.equal(await upload(server, { ...named, uploadId: 'u3' }), ids[0], 'bytes that the dataset has already');
  await server.client(DataService, 'owner').deleteBinaryDataByIDs({ binaryDataIds: [ids[0] ?? ''] });
  assert.notEqual(await upload(server, named), ids[0], 'what was deleted may come again');
});

test('filters: every field, alone', async () => {
  await using server = await trainingServer();
  const { own } = server;
  const datasetId = await dataset(server, 'd');
  await server.configure(dataServiceFor(datasetId));
  const a = await upload(server, { at: 100, tags: ['x', 'y'], datasetIds: [datasetId], name: 'left' });
  const b = await upload(server, { at: 200, tags: ['z'], name: 'right' });
  const c = await upload(server, { at: 300, name: 'right' });
  const client = server.client(DataService, 'owner');
  await client.addBoundingBoxToImageByID({
    binaryDataId: b,
    label: 'cup',
    xMinNormalized: 0,
    yMinNormalized: 0,
    xMaxNormalized: 1,
    yMaxNormalized: 1,
  });
  const all = [a, b, c];
  const rows: [name: string, filter: object, expected: string[]][] = [
    ['nothing', {}, all],
    ['organization', { organizationIds: [own.orgId] }, all],
    ['location', { locationIds: [own.locationId, 'other'] }, all],
    ['another location', { locationIds: ['other'] }, []],
    ['robot', { robotId: own.machineId, robotName: 'Rover', partId: own.partId, partName: 'main' }, all],
    ['another robot', { robotId: 'nonsense' }, []],
    ['component', { componentName: 'right', componentType: 'rdk:component:camera' }, [b, c]],
    ['mime type', { mimeType: ['image/png', 'image/jpeg'] }, all],
    ['another mime type', { mimeType: ['image/jpeg'] }, []],
    ['interval, its end outside', { interval: { start: time(100), end: time(300) } }, [a, b]],
    ['tags', { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: ['y', 'z'] } }, [a, b]],
    ['tags without a type', { tagsFilter: { tags: ['z'] } }, [b]],
    ['tagged', { tagsFilter: { type: TagsFilterType.TAGGED, tags: ['no matter'] } }, [a, b]],
    ['untagged', { tagsFilter: { type: TagsFilterType.UNTAGGED } }, [c]],
    ['box labels', { bboxLabels: ['cup', 'mug'] }, [b]],
    ['dataset', { datasetId }, [a]],
    ['an unknown dataset', { datasetId: 'nonsense' }, []],
    ['a method', { method: 'GetImages' }, []],
    ['two of them', { componentName: 'right', tagsFilter: { type: TagsFilterType.TAGGED } }, [b]],
    ['a quote in it', { componentName: "right' or true --" }, []],
  ];
  for (const [name, filter, expected] of rows) {
    const { data } = await client.binaryDataByFilter({ dataRequest: { filter, sortOrder: Order.ASCENDING } });
    assert.deepEqual(
      data.map(({ metadata }) => metadata?.binaryDataId),
      expected,
      name,
    );
  }
  assert.deepEqual((await client.tagsByFilter({})).tags, ['x', 'y', 'z']);
  assert.deepEqual((await client.tagsByFilter({ filter: { componentName: 'right' } })).tags, ['z']);
  assert.deepEqual((await client.boundingBoxLabelsByFilter({})).labels, ['cup']);
  assert.equal(
    await outcome(client.binaryDataByFilter({ dataRequest: { filter: { organizationIds: [server.foreign.orgId] } } })),
    '5 ORGANIZATION_NOT_FOUND',
  );
});

test('edits: tags, boxes, datasets, deletion', async () => {
  await using server = await trainingServer();
  const client = server.client(DataService, 'owner');
  const [a, b] = [await upload(server, { tags: ['x'], at: 1 }), await upload(server, { tags: ['y'], at: 2 })];
  const tagsNow = async () =>
    (await client.binaryDataByIDs({ binaryDataIds: [b, a] })).data.map(
      ({ metadata }) => metadata?.captureMetadata?.tags,
    );
  await client.addTagsToBinaryDataByIDs({ binaryDataIds: [a, b], tags: ['y', 'z', 'z'] });
  assert.deepEqual(
    await tagsNow(),
    [
      ['y', 'z'],
      ['x', 'y', 'z'],
    ],
    'in the order asked for',
  );
  assert.equal(
    (await client.removeTagsFromBinaryDataByIDs({ binaryDataIds: [a, b], tags: ['y', 'x', 'no'] })).deletedCount,
    3n,
  );
  await client.addTagsToBinaryDataByFilter({ filter: { tagsFilter: { tags: ['z'] } }, tags: ['w'] });
  assert.equal((await client.removeTagsFromBinaryDataByFilter({ tags: ['z'] })).deletedCount, 2n);
  assert.deepEqual(await tagsNow(), [['w'], ['w']]);

  const box = { label: 'cup', xMinNormalized: 0.1, yMinNormalized: 0.2, xMaxNormalized: 0.3, yMaxNormalized: 0.4 };
  const { bboxId } = await client.addBoundingBoxToImageByID({ binaryDataId: a, ...box });
  await client.updateBoundingBox({ binaryDataId: a, bboxId, label: 'mug', xMaxNormalized: 1 });
  const boxes = async () =>
    (await client.binaryDataByIDs({ binaryDataIds: [a] })).data[0]?.metadata?.annotations?.bboxes ?? [];
  assert.deepEqual(
    (await boxes()).map(({ label, xMinNormalized, xMaxNormalized }) => [label, xMinNormalized, xMaxNormalized]),
    [['mug', 0.1, 1]],
  );
  const refused: [name: string, call: () => Promise<unknown>, expected: string][] = [
    [
      'max below min',
      () => client.updateBoundingBox({ binaryDataId: a, bboxId, xMinNormalized: 1 }),
      '3 INVALID_ARGUMENT',
    ],
    [
      'outside',
      () => client.addBoundingBoxToImageByID({ binaryDataId: a, ...box, xMaxNormalized: 1.1 }),
      '3 INVALID_ARGUMENT',
    ],
    [
      'not a number',
      () => client.addBoundingBoxToImageByID({ binaryDataId: a, ...box, xMaxNormalized: Number.NaN }),
      '3 INVALID_ARGUMENT',
    ],
    [
      'box of another image',
      () => client.updateBoundingBox({ binaryDataId: b, bboxId, label: 'x' }),
      '5 BOUNDING_BOX_NOT_FOUND',
    ],
    [
      'no such box',
      () => client.removeBoundingBoxFromImageByID({ binaryDataId: a, bboxId: 'x' }),
      '5 BOUNDING_BOX_NOT_FOUND',
    ],
    [
      'no such image',
      () => client.addBoundingBoxToImageByID({ binaryDataId: a.slice(0, -4) + '0000', ...box }),
      '5 BINARY_DATA_NOT_FOUND',
    ],
    ['no id', () => client.addBoundingBoxToImageByID(box), '3 INVALID_ARGUMENT'],
    [
      'one of two unknown',
      () => client.binaryDataByIDs({ binaryDataIds: [a, b.slice(0, -4) + '0000'] }),
      '5 BINARY_DATA_NOT_FOUND',
    ],
  ];
  for (const [name, call, expected] of refused) assert.equal(await outcome(call()), expected, name);
  await client.removeBoundingBoxFromImageByID({ binaryDataId: a, bboxId });
  assert.deepEqual(await boxes(), []);

  const datasetId = await dataset(server, 'd');
  await client.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [a, b, a] });
  await client.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [a] });
  await client.removeBinaryDataFromDatasetByIDs({ datasetId, binaryDataIds: [b] });
  assert.deepEqual(
    (await client.binaryDataByIDs({ binaryDataIds: [a, b] })).data.map(({ metadata }) => metadata?.datasetIds),
    [[datasetId], []],
  );
  const sequences = await dataset(server, 's', 'owner', DatasetType.SEQUENCE_DATA);
  assert.equal(
    await outcome(client.addBinaryDataToDatasetByIDs({ datasetId: sequences, binaryDataIds: [a] })),
    '9 DATASET_TYPE_MISMATCH',
  );

  assert.equal((await client.deleteBinaryDataByIDs({ binaryDataIds: [a] })).deletedCount, 1n);
  assert.equal((await client.deleteBinaryDataByIDs({ binaryDataIds: [a] })).deletedCount, 0n);
  assert.equal((await server.get(`/data/${a}`, 'owner')).status, 404);
  const everything = { interval: { start: { seconds: 0n, nanos: 0 } } };
  assert.equal((await client.deleteBinaryDataByFilter({ filter: everything })).deletedCount, 1n);
});

test('tags of many at once: no call waits for ever, nothing is lost', async () => {
  await using server = await trainingServer();
  const client = server.client(DataService, 'owner');
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => upload(server, { at: n })));
  await Promise.all(
    Array.from({ length: 16 }, (_, n) =>
      client.addTagsToBinaryDataByIDs({ binaryDataIds: n % 2 ? ids : ids.toReversed(), tags: [`t${n}`] }),
    ),
  );
  assert.equal((await client.tagsByFilter({})).tags.length, 16);
  const { data } = await client.binaryDataByIDs({ binaryDataIds: ids });
  assert.deepEqual(new Set(data.map(({ metadata }) => metadata?.captureMetadata?.tags.length)), new Set([16]));
});

test('contents in one answer stay within what clients take', async () => {
  await using server = await trainingServer();
  const ids = await Promise.all([0, 1, 2].map((n) => upload(server, { at: n, bytes: Buffer.alloc(2_000_000, n) })));
  const client = server.client(DataService, 'owner');
  const found = await pages(client, { includeBinary: true });
  assert.deepEqual(
    found.map((page) => page.length),
    [1, 1, 1, 0, 0],
  );
  assert.deepEqual(
    (await pages(client, {})).map((page) => page.length),
    [3, 0, 0],
  );
  const huge = await upload(server, { at: 9, bytes: Buffer.alloc(32 * 1024 * 1024) });
  assert.equal(
    await outcome(client.binaryDataByIDs({ binaryDataIds: [huge], includeBinary: true })),
    '8 INCLUDE_BINARY_TOO_LARGE',
  );
  assert.equal(await outcome(client.binaryDataByFilter({ includeBinary: true })), '8 INCLUDE_BINARY_TOO_LARGE');
  assert.equal(await outcome(client.binaryDataByIDs({ binaryDataIds: [huge] })), 'ok');
  assert.equal(ids.length, 3);
});

test('a message above the limit is refused, and nothing is stored', async () => {
  await using server = await trainingServer();
  // HTTP/1.1: Node's HTTP/2 client aborts a message of this size before it reads the answer.
  const transport = createConnectTransport({
    baseUrl: server.url,
    httpVersion: '1.1',
    interceptors: [bearer('machine')],
  });
  const { partId } = server.own;
  const call = createClient(DataSyncService, transport).dataCaptureUpload({
    metadata: { partId, type: DataType.BINARY_SENSOR },
    sensorContents: [{ data: { case: 'binary', value: Buffer.alloc(65 * 1024 * 1024) } }],
  });
  assert.match(await outcome(call), /^8 /);
  assert.equal((await server.client(DataService, 'owner').binaryDataByFilter({ countOnly: true })).count, 0n);
});

const status = async (url: string): Promise<number> => (await fetch(url)).status;

test('signed links: for anybody, until they expire, for that datum only', async () => {
  const clock = new FakeClock(systemClock.wall());
  await using server = await trainingServer(clock);
  const [a, b] = [await upload(server, { at: 1 }), await upload(server, { at: 2 })];
  const client = server.client(DataService, 'owner');
  const { signedUrl } = await client.createBinaryDataSignedURL({ binaryDataId: a });
  assert.equal(await status(signedUrl), 200);
  assert.equal(await status(signedUrl.replace(a, b)), 401);
  assert.equal(await status(signedUrl.replace(/expires=\d+/, 'expires=9999999999')), 401);
  assert.equal(await status(signedUrl.split('?')[0] ?? ''), 401);
  await clock.advance(15 * 60_000 + 1000);
  assert.equal(await status(signedUrl), 401);
  assert.equal(
    await outcome(client.createBinaryDataSignedURL({ binaryDataId: a, expirationMinutes: 10_081 })),
    '3 INVALID_ARGUMENT',
  );
  assert.equal(
    await outcome(server.client(DataService, 'foreignOwner').createBinaryDataSignedURL({ binaryDataId: a })),
    '5 BINARY_DATA_NOT_FOUND',
  );
});
