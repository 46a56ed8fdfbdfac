import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { create } from '@bufbuild/protobuf';
import {
  DataCaptureUploadRequestSchema,
  DataCaptureUploadResponseSchema,
} from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import type { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { CaptureSpool } from '../src/captures/spool.ts';
import { uploadCaptures } from '../src/captures/upload.ts';

const about = (taken: number) =>
  ({ format: 'jpeg', camera: 'cam', taken_ms: taken, tags: ['t'], dataset_ids: ['d'] }) as const;
const imageBytes = (text: string) => Buffer.from(text);

/** Runs the upload loop over one folder, on a clock that the test moves; the server returns the given answers. */
function uploading(folder: string, answers: Record<string, (Code | 'ok')[]>) {
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock);
  const spool = new CaptureSpool();
  const arrived: string[] = [];
  const tried: string[] = [];
  const dataSync: Pick<Client<typeof DataSyncService>, 'dataCaptureUpload'> = {
    dataCaptureUpload: async (init) => {
      const { metadata, sensorContents } = create(DataCaptureUploadRequestSchema, init);
      const text = Buffer.from(sensorContents[0]?.data.value as Uint8Array).toString();
      tried.push(text);
      const answer = answers[text]?.shift() ?? 'ok';
      if (answer !== 'ok') throw new ConnectError('set to fail', answer);
      assert.deepEqual([metadata?.tags, metadata?.datasetIds, metadata?.mimeType], [['t'], ['d'], 'image/jpeg']);
      arrived.push(text);
      return create(DataCaptureUploadResponseSchema, { binaryDataId: 'x' });
    },
  };
  const stop = new AbortController();
  const folders = async () => [folder];
  const done = uploadCaptures({ dataSync, partId: 'p', spool, folders, clock, log }, stop.signal);
  return {
    clock,
    spool,
    arrived,
    tried,
    lines,
    /** Waits for files and promises without advancing the clock. */
    settle: async (is: () => boolean) => {
      for (const end = performance.now() + 20_000; performance.now() < end && !is();) await clock.settle();
      assert.ok(is(), JSON.stringify({ arrived, tried }));
    },
    end: async () => {
      stop.abort();
      await done;
      assert.deepEqual([clock.pending, spool.added.listeners], [0, 0]);
    },
  };
}

test('what is captured is uploaded, the oldest first, and gone from the disk', async () => {
  await using temp = await tempFolder();
  const it = uploading(temp.path, {});
  await it.spool.add(temp.path, imageBytes('one'), about(1000));
  await it.spool.add(temp.path, imageBytes('two'), about(2000));
  await it.settle(() => it.arrived.length === 2);
  await it.spool.add(temp.path, imageBytes('three'), about(3000));
  await it.settle(() => it.arrived.length === 3);
  assert.deepEqual(it.arrived, ['one', 'two', 'three']);
  await it.end();
  assert.deepEqual(await readdir(temp.path), []);
});

test('offline: everything waits, ever longer up to a minute; nothing is tried twice at once', async () => {
  await using temp = await tempFolder();
  const it = uploading(temp.path, { one: Array.from({ length: 9 }, () => Code.Unavailable) });
  await it.spool.add(temp.path, imageBytes('one'), about(1000));
  await it.spool.add(temp.path, imageBytes('two'), about(2000));
  await it.settle(() => it.tried.length === 1 && it.clock.pending === 1);
  await it.clock.advance(199);
  assert.equal(it.tried.length, 1);
  await it.clock.advance(1);
  await it.settle(() => it.tried.length === 2 && it.clock.pending === 1);
  for (let tries = 3; tries <= 9; tries++) {
    await it.clock.advance(60_000);
    await it.settle(() => it.tried.length === tries && it.clock.pending === 1);
  }
  assert.deepEqual(it.arrived, []);
  await it.clock.advance(60_000);
  await it.settle(() => it.arrived.length === 2);
  assert.deepEqual(it.arrived, ['one', 'two']);
  await it.end();
});

test('refused for good: kept in "failed" with the reason; failing for now: the others go first', async () => {
  await using temp = await tempFolder();
  const before = new CaptureSpool();
  await before.add(temp.path, imageBytes('bad'), about(1000));
  await before.add(temp.path, imageBytes('slow'), about(2000));
  await before.add(temp.path, imageBytes('good'), about(3000));
  const it = uploading(temp.path, { bad: [Code.InvalidArgument], slow: [Code.Internal, Code.ResourceExhausted] });
  await it.settle(() => it.arrived.includes('good') && it.clock.pending === 1);
  await it.clock.advance(200);
  await it.settle(() => it.tried.filter((t) => t === 'slow').length === 2 && it.clock.pending === 1);
  await it.clock.advance(400);
  await it.settle(() => it.arrived.includes('slow'));
  assert.deepEqual(it.arrived, ['good', 'slow']);
  assert.equal(it.tried.filter((text) => text === 'bad').length, 1);
  await it.end();
  assert.deepEqual(await readdir(temp.path), ['failed']);
  const [image = '', record = ''] = (await readdir(temp.file('failed'))).toSorted();
  assert.equal(await readFile(temp.file('failed', image), 'utf8'), 'bad');
  assert.equal(
    (JSON.parse(await readFile(temp.file('failed', record), 'utf8')) as { problem: string }).problem,
    'set to fail',
  );
});

test('a crash leaves nothing behind that counts, and loses nothing that did', async () => {
  await using temp = await tempFolder();
  const folder = temp.file('keep');
  const kept = await new CaptureSpool().add(folder, imageBytes('kept'), about(1000));
  const left = 'cam-2026-01-01T00-00-00.000Z-0000000';
  await writeFile(temp.file('keep', `${left}1.jpg`), 'image without a record');
  await writeFile(temp.file('keep', `${left}2.jpg.json.12ab.tmp`), '{"file_name":');
  await writeFile(temp.file('keep', `${left}3.jpg.json`), '{"file_name":');
  await writeFile(temp.file('keep', `${left}4.jpg.json`), JSON.stringify({ ...kept, file_name: '../kept.jpg' }));
  const foreign = ['holiday.jpg', 'holiday.json', 'x.tmp'];
  for (const name of foreign) await writeFile(temp.file('keep', name), 'not ours');

  const spool = new CaptureSpool();
  const next = await spool.add(folder, imageBytes('next'), about(2000));
  const waiting = await spool.waiting(folder);
  assert.deepEqual(
    waiting.map(({ record }) => record),
    [kept, next],
  );
  assert.equal((await waiting[0]?.read())?.toString(), 'kept');
  const names = [kept, next].flatMap(({ file_name: name }) => [name, `${name}.json`]);
  assert.deepEqual((await readdir(folder)).toSorted(), [...names, ...foreign, 'failed'].toSorted());
  assert.deepEqual((await readdir(temp.file('keep', 'failed'))).toSorted(), [`${left}3.jpg.json`, `${left}4.jpg.json`]);
  // A record whose image was removed must not stop the uploads.
  await rm(temp.file('keep', kept.file_name));
  const it = uploading(folder, {});
  await it.settle(() => it.arrived.includes('next'));
  await it.end();
});

test('a camera with a name that is a path stays in its folder', async () => {
  await using temp = await tempFolder();
  const record = await new CaptureSpool().add(temp.file('keep'), imageBytes('x'), { ...about(1), camera: '../../up' });
  assert.deepEqual([await readdir(temp.path), record.camera], [['keep'], '../../up']);
  assert.deepEqual((await readdir(temp.file('keep'))).toSorted(), [record.file_name, `${record.file_name}.json`]);
});

test('a full spool takes nothing more until something has left', async () => {
  await using temp = await tempFolder();
  await mkdir(temp.file('keep'));
  const spool = new CaptureSpool(10);
  await spool.add(temp.file('keep'), imageBytes('12345'), about(1));
  await spool.add(temp.file('keep'), imageBytes('67890'), about(2));
  await assert.rejects(spool.add(temp.file('keep'), imageBytes('x'), about(3)), /10 bytes.*limit is 10/);
  await assert.rejects(new CaptureSpool(10).add(temp.file('keep'), imageBytes('x'), about(3)), /limit is 10/);
  const [first] = await spool.waiting(temp.file('keep'));
  assert.ok(first);
  await spool.done(first);
  await spool.add(temp.file('keep'), imageBytes('abcde'), about(4));
  assert.equal((await spool.waiting(temp.file('keep'))).length, 2);
});
