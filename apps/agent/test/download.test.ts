import assert from 'node:assert/strict';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock } from '@platform/kit/node';
import { captureLog, seededRandom, tempFolder } from '@platform/kit/testing';
import { fileDisk } from '../src/os/file-disk.ts';
import { posixFileSystem } from '../src/os/posix/file-system.ts';
import { systemWeb } from '../src/os/web.ts';
import { fetchRelease } from '../src/versions/fetch-release.ts';
import type { FetchTask } from '../src/versions/fetch-ports.ts';
import { sourcesOn } from '../src/versions/sources.ts';
import { programStore } from '../src/versions/program-store.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';

const random = seededRandom(3);
const bytes = Buffer.concat([Buffer.from('#!'), Buffer.from(Array.from({ length: 299_998 }, () => random() * 256))]);
const sha256 = sha256Of(bytes).toString('hex');
const none = new AbortController().signal;

async function world() {
  const folder = await tempFolder();
  const server = await listen(new TestCloud(systemClock));
  const { log } = captureLog(systemClock);
  const files = posixFileSystem(folder.path);
  const sources = sourcesOn(fileDisk(files), systemWeb, systemClock);
  /** Opens the store like a new agent process. */
  const open = () => {
    const store = programStore(files, 'server', { clock: systemClock, log });
    const parts = {
      files,
      web: systemWeb,
      store,
      trust: undefined,
      patches: undefined,
      boot: '',
      clock: systemClock,
      log,
    };
    return {
      async download(of: Partial<FetchTask>, signal: AbortSignal): Promise<string> {
        const task: FetchTask = {
          program: 'server',
          platform: 'linux/amd64',
          url: '',
          version: '1.0.0',
          sha256: '',
          sizeBytes: 0,
          target: '',
          isUnsigned: false,
          deltas: [],
          ...of,
        };
        const { id, stamp, refusal } = await fetchRelease(task, parts, () => {}, signal);
        if (task.sha256 === '') await sources.learn(task.url, { id, stamp });
        assert.equal(refusal, undefined);
        return id;
      },
      known: (url: string) => sourcesOn(fileDisk(files), systemWeb, systemClock).known(url, none),
    };
  };
  const parts = () => readdir(folder.file('cache', 'part')).catch(() => []);
  const size = async () => {
    const name = (await parts()).find((n) => n.endsWith('.part'));
    return name === undefined ? 0 : (await stat(folder.file('cache', 'part', name))).size;
  };
  return {
    folder,
    server,
    open,
    gets: () => server.requests.map(({ method, range, status }) => `${method} ${range ?? 'all'} ${status}`),
    parts,
    /** Starts a download and aborts it after 100 000 bytes have reached the disk. */
    async interrupted(url: string): Promise<void> {
      const stop = new AbortController();
      const work = open().download({ url, version: '1.0.0', sha256 }, stop.signal);
      const failed = assert.rejects(work, { name: 'AbortError' });
      while ((await size()) < 100_000) await systemClock.sleep(5);
      stop.abort();
      await failed;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('a broken download goes on where it stopped, in a later agent too', async () => {
  await using w = await world();
  const url = w.server.publish('/f', { bytes, stallAfter: 100_000 });
  await w.interrupted(url);
  const part = (await w.parts()).find((n) => n.endsWith('.part'))!;
  const { size, mode } = await stat(w.folder.file('cache', 'part', part));
  assert.ok(size > 0 && size <= 100_000);
  assert.equal(mode & 0o777, 0o600, 'no other user reads an unverified file');
  const id = await w.open().download({ url, version: '1.0.0', sha256 }, none);
  assert.equal(id, `1.0.0-${sha256.slice(0, 12)}`);
  assert.deepEqual(w.gets(), ['GET all 200', 'GET bytes=100000- 206']);
  assert.equal((await stat(w.folder.file('versions', id, 'platform-server'))).mode & 0o777, 0o755);
  assert.deepEqual(await w.parts(), []);
});

test('a source that changed meanwhile is fetched from its beginning', async () => {
  await using w = await world();
  const url = w.server.publish('/f', { bytes: Buffer.alloc(300_000, 1), stallAfter: 100_000 });
  await w.interrupted(url);
  w.server.publish('/f', { bytes });
  await w.open().download({ url, version: '1.0.0', sha256 }, none);
  assert.match(w.gets().join(', '), /^GET all 200, GET bytes=\d+- 200$/);
});

test('a part that was damaged on disk is found out, and all of it is fetched again', async () => {
  await using w = await world();
  const url = w.server.publish('/f', { bytes, stallAfter: 100_000 });
  await w.interrupted(url);
  const part = (await w.parts()).find((n) => n.endsWith('.part'))!;
  await writeFile(w.folder.file('cache', 'part', part), Buffer.alloc(50_000));
  const id = await w.open().download({ url, version: '1.0.0', sha256 }, none);
  assert.equal(id, `1.0.0-${sha256.slice(0, 12)}`);
  assert.deepEqual(w.gets(), ['GET all 200', 'GET bytes=50000- 206', 'GET all 200']);
});

test('a release without an entity tag is fetched whole again', async () => {
  await using w = await world();
  const url = w.server.publish('/f', { bytes, stallAfter: 100_000, etag: 'W/"weak"' });
  await w.interrupted(url);
  await w.open().download({ url, version: '1.0.0', sha256 }, none);
  assert.deepEqual(w.gets(), ['GET all 200', 'GET all 200']);
});

test('a local file by file:// is copied, and a rebuilt one is seen', async () => {
  await using w = await world();
  const file = w.folder.file('my build');
  const url = pathToFileURL(file).href;
  const own = { url, version: 'customURL', sha256: '' };
  await assert.rejects(w.open().download(own, none), { code: 'DOWNLOAD_FAILED' });
  await writeFile(file, '#!/bin/sh\necho 1\n');
  const id = await w.open().download(own, none);
  assert.equal(await w.open().known(url), id);
  await writeFile(file, '#!/bin/sh\necho 2 and more\n');
  assert.equal(await w.open().known(url), null);
});

test('an own build stays known while its source is out of reach', async () => {
  await using w = await world();
  const url = w.server.publish('/f', { bytes: Buffer.from('#!/bin/sh\n') });
  const id = await w.open().download({ url, version: 'customURL', sha256: '' }, none);
  await w.server[Symbol.asyncDispose]();
  assert.equal(await w.open().known(url), id);
});
