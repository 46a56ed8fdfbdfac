import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { checkpointStore, keptCheckpointMs } from './checkpoints.ts';

test('a later attempt finds what an earlier one saved, and waits until that one has ended', async () => {
  await using folder = await tempFolder();
  const store = checkpointStore(folder.file('kept'), () => 0);
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const earlier = store.use('a', async (own) => {
    await first.promise;
    await writeFile(`${own}/state`, 'epoch 3');
    order.push('earlier');
  });
  const later = store.use('a', async (own) => {
    order.push('later');
    return readFile(`${own}/state`, 'utf8');
  });
  await store.use('b', async (own) => order.push(`another job ${(await readdir(own)).length}`));
  first.resolve();
  await earlier;
  assert.equal(await later, 'epoch 3');
  assert.deepEqual(order, ['another job 0', 'earlier', 'later']);
  await store.remove('a');
  assert.deepEqual(await readdir(folder.file('kept')), ['job-b']);
});

test('an attempt that failed does not stop the next; jobs with odd IDs stay apart and inside', async () => {
  await using folder = await tempFolder();
  const store = checkpointStore(folder.file('kept'), () => 0);
  await assert.rejects(
    store.use('a', () => Promise.reject(new Error('no'))),
    /no/,
  );
  const folders = await Promise.all(
    ['a', '../a', '..', 'a/', 'a%2F', ''].map((id) => store.use(id, async (own) => own)),
  );
  assert.equal(new Set(folders).size, folders.length);
  assert.equal((await readdir(folder.path)).length, 1);
  assert.equal((await stat(folder.file('kept'))).mode & 0o777, 0o700);
});

test('what no attempt used for seven days is removed, what is in use stays', async () => {
  await using folder = await tempFolder();
  let now = 0;
  const store = checkpointStore(folder.file('kept'), () => now);
  for (const id of ['old', 'new']) await store.use(id, (own) => writeFile(`${own}/x`, id));
  now = keptCheckpointMs;
  assert.equal(await store.trim(), 0);
  await store.use('new', async () => {});
  const ended = Promise.withResolvers<void>();
  const held = store.use('old', () => ended.promise);
  now += 1;
  assert.equal(await store.trim(), 0);
  ended.resolve();
  await held;
  now += keptCheckpointMs + 1;
  await store.use('new', async () => {});
  assert.equal(await store.trim(), 1);
  assert.deepEqual(await readdir(folder.file('kept')), ['job-new']);
});
