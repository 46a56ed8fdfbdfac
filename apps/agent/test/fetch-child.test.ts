import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { childFetcher } from '../src/versions/fetch-child.ts';
import type { FetchTask, Progress } from '../src/versions/fetch-ports.ts';
import { command, mainFile } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const taskOf = (url: string, sha256: string): FetchTask => ({
  program: 'server',
  platform: 'linux/amd64',
  url,
  version: '1.0.0',
  sha256,
  sizeBytes: 0,
  target: '',
  isUnsigned: true,
  deltas: [],
});

test('a release is fetched by a process of its own: progress, result, errors of the table, its death, and the end of waiting', async () => {
  await using folder = await tempFolder();
  await using server = await listen(new TestCloud(systemClock));
  const { log } = captureLog(systemClock);
  const root = folder.file('root');
  await mkdir(root);
  const fetcherWith = (args: readonly string[]) =>
    childFetcher({
      late: () => {},
      command: process.execPath,
      args,
      env: { PATH: process.env['PATH'] },
      root,
      appAddress: server.url,
      log,
    });
  const fetcher = fetcherWith([mainFile, 'fetch']);
  const signal = new AbortController().signal;
  const bytes = Buffer.from(tinyServer('1.0.0'));
  const sha256 = sha256Of(bytes).toString('hex');
  const url = server.publish('/1.0.0', { bytes });

  const progress: Progress[] = [];
  const { id, isByDelta, refusal } = await fetcher.fetch(taskOf(url, sha256), (p) => progress.push(p), signal);
  assert.deepEqual([id, isByDelta, refusal], [`1.0.0-${sha256.slice(0, 12)}`, false, undefined]);
  assert.deepEqual(await readFile(path.join(root, 'versions', id, 'platform-server')), bytes);
  assert.equal(progress.at(-1)?.bytes, bytes.length);

  const other = server.publish('/other', { bytes: Buffer.from('#!/bin/sh\n') });
  await assert.rejects(
    fetcher.fetch(taskOf(other, 'ab'.repeat(32)), () => {}, signal),
    (error: unknown) =>
      error instanceof PlatformError && error.code === 'DOWNLOAD_CORRUPT' && error.data['url'] === other,
  );
  await assert.rejects(
    fetcher.fetch({ ...taskOf(url, sha256), isUnsigned: false }, () => {}, signal),
    {
      code: 'RELEASE_UNSIGNED',
    },
  );

  // A child process that crashes or prints invalid output counts as a failed download.
  const dying = fetcherWith(['-e', 'console.log("hello"); console.error("out of luck"); process.exit(9)']);
  await assert.rejects(
    dying.fetch(taskOf(url, sha256), () => {}, signal),
    {
      code: 'DOWNLOAD_FAILED',
      message: /its process ended \(9\) out of luck/,
    },
  );
  const killed = fetcherWith(['-e', 'process.kill(process.pid, "SIGKILL")']);
  await assert.rejects(
    killed.fetch(taskOf(url, sha256), () => {}, signal),
    { message: /its process ended \(SIGKILL\)/ },
  );

  // No caller waits for the download any more, so the child process ends, too.
  const stop = new AbortController();
  const slow = server.publish('/slow', { bytes: Buffer.alloc(1e6, '#!/bin/sh\n'), stallAfter: 70_000 });
  const begun = Promise.withResolvers<void>();
  const fetched = fetcher.fetch(taskOf(slow, ''), () => begun.resolve(), stop.signal);
  await begun.promise;
  stop.abort(new Error('enough'));
  await assert.rejects(fetched, { message: 'enough' });
});

test('fetch with an order in another format: one line that says so', async () => {
  const ran = await command(['fetch'], {}, '{"task"');
  assert.equal(ran.code, 1);
  assert.deepEqual(Object.keys(JSON.parse(ran.stdout) as object), ['is', 'code', 'text', 'data']);
});
