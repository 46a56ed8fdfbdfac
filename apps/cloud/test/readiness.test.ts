// What /readyz says to whom.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { leastFreeBytes, roomOf } from '../src/health/readiness.ts';
import { testServer } from './server.ts';

const read = (url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const request = http.get(`${url}/readyz`, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    request.once('error', reject);
  });

test('one word to unknown callers; the checks to programs of this host and to keys that may read metrics', async () => {
  await using on = await testServer();
  const url = on.server.localUrl;
  const all = /^ok\ndatabase: ok\nblobs: ok\ndisk: ok \([\d.]+ [GMT]B of [\d.]+ [GMT]B free\)\n$/;
  assert.match((await read(url)).text, all);
  const key = { key_id: on.owner.entity, key: on.owner.payload };
  for (const headers of [
    { host: 'cloud.example' },
    { 'x-forwarded-for': '203.0.113.7' },
    { via: '1.1 proxy' },
    { host: 'cloud.example', key_id: on.runner.entity, key: on.runner.payload },
    { host: 'cloud.example', key_id: on.owner.entity, key: 'wrong' },
    { host: 'cloud.example', authorization: 'Bearer x' },
  ])
    assert.deepEqual(await read(url, headers), { status: 200, text: 'ok\n' }, JSON.stringify(headers));
  assert.match((await read(url, { host: 'cloud.example', ...key })).text, all);
});

test('a store that cannot be written makes the server unavailable, in one word to unknown callers', async () => {
  await using on = await testServer([], {
    blobs: (blobs) => ({
      ...blobs,
      checkWritable: () => Promise.reject(Object.assign(new Error('read-only file system'), { code: 'EROFS' })),
    }),
  });
  const url = on.server.localUrl;
  const { status, text } = await read(url);
  assert.equal(status, 503);
  assert.match(text, /^unavailable\ndatabase: ok\nblobs: cannot be written: .*read-only file system\ndisk: ok/);
  assert.deepEqual(await read(url, { host: 'cloud.example' }), { status: 503, text: 'unavailable\n' });
});

test('files and disk that do not answer for 1.5 s are a problem, and well again with their next answer', async () => {
  const hanging = { is: false, goOn: () => {} };
  await using on = await testServer([], {
    blobs: (blobs) => ({
      ...blobs,
      checkWritable: () =>
        hanging.is ? new Promise<void>((resolve) => (hanging.goOn = resolve)) : blobs.checkWritable(),
    }),
  });
  const url = on.server.localUrl;
  assert.equal((await read(url)).status, 200);
  hanging.is = true;
  const late = /^unavailable\ndatabase: ok\nblobs: did not answer within 1\.5 s\ndisk: did not answer within 1\.5 s\n$/;
  let found = await read(url);
  while (found.status === 200) {
    await systemClock.sleep(100);
    found = await read(url);
  }
  assert.equal(found.status, 503);
  assert.match(found.text, late);
  hanging.is = false;
  hanging.goOn();
  while ((await read(url)).status !== 200) await systemClock.sleep(100);
});

test('the answer costs no statement and no file, however many ask', async () => {
  let checks = 0;
  await using on = await testServer([], {
    blobs: (blobs) => ({
      ...blobs,
      checkWritable: () => {
        checks++;
        return blobs.checkWritable();
      },
    }),
  });
  const url = on.server.localUrl;
  await read(url);
  const before = checks;
  const answers = await Promise.all(Array.from({ length: 300 }, () => read(url)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.ok(checks - before <= 2, `${checks - before} checks`);
});

test('owners of the installation read its health by a call; a store that fails is in it', async () => {
  const failing: { blobs?: Error } = {};
  await using on = await testServer([], {
    blobs: (blobs) => ({
      ...blobs,
      checkWritable: async () => {
        if (failing.blobs) throw failing.blobs;
      },
    }),
  });
  const health = await on.client(InstallationService);
  const found = await health.getHealth({});
  assert.equal(found.state, 'ok');
  assert.deepEqual(
    found.checks.map(({ name, passed }) => [name, passed]),
    [
      ['database', true],
      ['blobs', true],
      ['disk', true],
    ],
  );
  assert.match(found.checks[2]?.text ?? '', /^[\d.]+ [GMT]B of [\d.]+ [GMT]B free$/);
  assert.deepEqual(found.problems, []);
  assert.equal(found.certificateExpiresOn, undefined);
  assert.deepEqual({ ...found.backups, $typeName: '' }, { $typeName: '', everyHours: 0, keep: 0, problem: '' });
  const asRunner = await on.client(InstallationService, on.runner);
  await assert.rejects(asRunner.getHealth({}), /PERMISSION_DENIED/);
  failing.blobs = Object.assign(new Error('read-only file system'), { code: 'EROFS' });
  // The state of the disk is read again after a rest.
  for (;;) {
    const { state, checks } = await health.getHealth({});
    if (state === 'ok') {
      await systemClock.sleep(200);
      continue;
    }
    assert.equal(state, 'unavailable');
    assert.match(checks[1]?.text ?? '', /cannot be written: .*read-only file system/);
    break;
  }
});

test('a disk without room or without inodes is a problem; file systems without a number of inodes are none', () => {
  const disk = { bsize: 4_096, bavail: 100_000, blocks: 200_000, files: 1_000, ffree: 10 };
  assert.deepEqual(roomOf(disk), { note: '410 MB of 819 MB free' });
  assert.match(roomOf({ ...disk, bavail: leastFreeBytes / 4_096 - 1 }).problem ?? '', /^full, 33\.6 MB must be free$/);
  assert.equal(roomOf({ ...disk, bavail: leastFreeBytes / 4_096 }).problem, undefined);
  assert.match(roomOf({ ...disk, ffree: 0 }).problem ?? '', /^no more files fit/);
  assert.equal(roomOf({ ...disk, files: 0, ffree: 0 }).problem, undefined);
});
