import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ConnectError } from '@connectrpc/connect';
import sharp from 'sharp';
import { errorCodeOf } from '@platform/contract/errors/errors';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { systemClock } from '@platform/kit/node';
import { smallPng } from '@platform/kit/testing';
import { openDecoders, type Decoders } from '../src/images/decoders.ts';
import { measureAll } from '../src/images/measurements.ts';
import { dataset, upload } from './captured-uploads.ts';
import { testLog } from './database.ts';
import { imageFiles } from './image-files.ts';
import { submission } from './training-data.ts';
import { type TrainingServer, trainingServer } from './training-server.ts';

const never = new AbortController().signal;

describe('images are what they say', () => {
  let server: TrainingServer;
  let files: Record<string, Buffer>;
  let decoders: Decoders;
  const bytesOf = (name: string): Buffer => files[name] ?? assert.fail(name);
  const deps = () => ({ ...server, decoders, clock: systemClock, log: testLog });
  const put = (name: string, datasetId: string) =>
    server.client(DataSyncService, 'owner').dataCaptureUpload({
      metadata: {
        type: DataType.BINARY_SENSOR,
        fileName: `${name}.jpg`,
        fileExtension: 'jpg',
        datasetIds: [datasetId],
        imagesOnly: true,
      },
      sensorContents: [{ data: { case: 'binary', value: bytesOf(name) } }],
    });
  const metadataOf = async (id: string) => {
    const { data } = await server.client(DataService, 'owner').binaryDataByIDs({ binaryDataIds: [id] });
    return data[0]?.metadata ?? assert.fail(id);
  };
  before(async () => {
    server = await trainingServer();
    files = await imageFiles();
    decoders = openDecoders({ clock: systemClock, processes: 1 });
  });
  after(async () => {
    decoders.close();
    await server[Symbol.asyncDispose]();
  });

  const good: [name: string, type: string, width: number, height: number][] = [
    ['jpeg', 'image/jpeg', 320, 240],
    ['png', 'image/png', 64, 48],
    ['webp', 'image/webp', 64, 48],
    ['turned jpeg', 'image/jpeg', 240, 320],
    ['cmyk jpeg', 'image/jpeg', 32, 32],
    ['jpeg and archive', 'image/jpeg', 320, 240],
  ];
  for (const [name, type, width, height] of good)
    test(`a user uploads a ${name} called .jpg: it is stored as ${type}`, async () => {
      const { binaryDataId } = await put(name, await dataset(server, `good ${name}`));
      const { captureMetadata, imageWidth, imageHeight, imageProblem } = await metadataOf(binaryDataId);
      assert.deepEqual([captureMetadata?.mimeType, imageWidth, imageHeight, imageProblem], [type, width, height, '']);
      assert.equal((await server.get(`/data/${binaryDataId}`, 'owner')).headers.get('content-type'), type);
    });

  const bad: [name: string, says: RegExp][] = [
    ['truncated jpeg', /is a broken image: it ends too early/],
    ['truncated png', /is a broken image/],
    ['truncated webp', /is a broken image/],
    ['only a jpeg start', /is a broken image/],
    ['damaged png', /is a broken image/],
    ['random bytes', /is not a JPEG, PNG or WebP image/],
    ['png of 101 megapixels', /has 101 megapixels, the limit is 100: scale it down/],
    ['png bomb', /megapixels, the limit is 100/],
    ['png of 99 megapixels without pixels', /is a broken image/],
    ['svg', /is an SVG drawing: export it as PNG/],
    ['svg after a png start', /is a broken image/],
    ['heic', /is a HEIC image: convert it to JPEG/],
    ['gif', /is a GIF image/],
    ['tiff', /is a TIFF or RAW image/],
    ['text', /is text, no image/],
    ['empty', /is empty/],
  ];
  for (const [name, says] of bad)
    test(`a user uploads ${name}, refused with what to do, and no row is left`, async () => {
      const datasetId = await dataset(server, `bad ${name}`);
      await assert.rejects(put(name, datasetId), (error: ConnectError) => {
        assert.equal(errorCodeOf(error), 'IMAGE_NOT_USABLE');
        assert.match(error.rawMessage, says);
        return true;
      });
      const filter = { organizationIds: [server.own.orgId], datasetId };
      const { count } = await server
        .client(DataService, 'owner')
        .binaryDataByFilter({ dataRequest: { filter }, countOnly: true });
      assert.equal(count, 0n);
    });

  test('a machine sends other files than images: stored and marked; the check counts and names it, the training leaves it out', async () => {
    const datasetIds = [await dataset(server, 'of a machine')];
    for (const tag of ['a', 'b'])
      for (let n = 0; n < 12; n++)
        await upload(server, { datasetIds, tags: [tag], who: 'owner', bytes: smallPng(`${tag} ${n}`) });
    const text = await upload(server, { datasetIds, tags: ['a'], who: 'owner', bytes: bytesOf('text') });
    const cut = await upload(server, { datasetIds, tags: ['b'], who: 'owner', bytes: bytesOf('truncated png') });
    const dark = await upload(server, { datasetIds, tags: ['b'], who: 'owner', bytes: bytesOf('png of 12 bits') });
    const [datasetId = ''] = datasetIds;
    await measureAll(deps(), never);
    assert.equal((await metadataOf(text)).imageProblem, 'is text, no image');
    assert.match((await metadataOf(cut)).imageProblem, /^is a broken image/);
    assert.equal((await metadataOf(dark)).imageProblem, '');
    const training = server.client(MLTrainingService, 'owner');
    const asked = submission(server, datasetId);
    const { advice, problem, ...images } = await training.checkTrainingData({
      organizationId: server.own.orgId,
      datasetId,
      modelType: asked.modelType ?? 0,
      tags: ['a', 'b'],
    });
    assert.equal(problem, undefined);
    assert.equal(images.trainImages + images.validationImages + images.testImages, 25);
    assert.match(advice.join('\n'), /2 files are left out, because they cannot be used as images: .*is text, no image/);
    assert.match(advice.join('\n'), /1 image of 16 bits uses 12 of them/);
    const { id } = await training.submitTrainingJob(asked);
    const { counts, manifestSha256 } = await server.db
      .selectFrom('datasetVersion')
      .select(['counts', 'manifestSha256'])
      .where('datasetId', '=', datasetId)
      .executeTakeFirstOrThrow();
    assert.equal(counts['images'], 25);
    let manifest = '';
    for await (const part of await server.blobs.get(manifestSha256)) manifest += String(part);
    assert.equal(manifest.trim().split('\n').length, 25);
    assert.doesNotMatch(manifest, new RegExp(text.split('/').at(-1) ?? ''));
    const { logs } = await training.getTrainingJobLogs({ id });
    assert.match(logs.map(({ message }) => message).join('\n'), /2 files are left out/);
    assert.equal((await server.get(`/data/${text}`, 'owner')).headers.get('content-type'), 'application/octet-stream');
  });

  test('files that were stored before are measured once, whenever the measurement ends in between', async () => {
    const datasetIds = [await dataset(server, 'of before')];
    for (let n = 0; n < 7; n++) await upload(server, { datasetIds, bytes: smallPng(`before ${n}`), who: 'owner' });
    let decoded = 0;
    const stop = new AbortController();
    const counting = (most: number): Decoders => ({
      ...decoders,
      measure(path) {
        if (++decoded === most) stop.abort();
        return decoders.measure(path);
      },
    });
    assert.deepEqual(await measureAll({ ...deps(), decoders: counting(3) }, stop.signal), {
      measured: 3,
      unreadable: 0,
    });
    assert.deepEqual(await measureAll({ ...deps(), decoders: counting(-1) }, never), { measured: 4, unreadable: 0 });
    assert.deepEqual(await measureAll({ ...deps(), decoders: counting(-1) }, never), { measured: 0, unreadable: 0 });
    assert.equal(decoded, 7);
  });

  test('a file that is gone from the disk is not marked, and does not hold up the others', async () => {
    const datasetIds = [await dataset(server, 'of a lost disk')];
    const gone = await upload(server, { datasetIds, bytes: smallPng('gone'), who: 'owner' });
    const there = await upload(server, { datasetIds, bytes: smallPng('there'), who: 'owner' });
    await server.blobs.delete((await metadataOf(gone)).fileSha256);
    assert.deepEqual(await measureAll(deps(), never), { measured: 1, unreadable: 1 });
    assert.equal((await metadataOf(gone)).imageWidth, 0);
    assert.equal((await metadataOf(there)).imageWidth, 16);
    await server.client(DataService, 'owner').deleteBinaryDataByIDs({ binaryDataIds: [gone] });
  });

  test('small copies: their sizes, their ETag, and the right of the image itself', async () => {
    const { binaryDataId } = await put('turned jpeg', await dataset(server, 'copies'));
    const small = await server.get(`/data/${binaryDataId}?width=200`, 'owner');
    assert.equal(small.headers.get('content-type'), 'image/webp');
    const bytes = Buffer.from(await small.arrayBuffer());
    assert.ok(bytes.length <= 15_000);
    assert.deepEqual((({ width, height }) => [width, height])(await sharp(bytes).metadata()), [150, 200]);
    const again = { 'if-none-match': small.headers.get('etag') ?? '' };
    assert.equal((await server.get(`/data/${binaryDataId}?width=200`, 'owner', again)).status, 304);
    const large = await server.get(`/data/${binaryDataId}?width=800`, 'owner', again);
    assert.equal(large.status, 200);
    await large.arrayBuffer();
    assert.equal((await server.get(`/data/${binaryDataId}?width=300`, 'owner')).status, 400);
    assert.equal((await server.get(`/data/${binaryDataId}?width=200`, 'foreignOwner')).status, 404);
    const text = await upload(server, { bytes: bytesOf('text'), who: 'owner' });
    const none = await server.get(`/data/${text}?width=200`, 'owner');
    assert.equal(none.status, 400);
    assert.match(await none.text(), /IMAGE_NOT_USABLE/);
  });
});
