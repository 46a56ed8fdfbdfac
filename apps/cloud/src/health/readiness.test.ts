import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { databaseEveryMs, readiness } from './readiness.ts';

test('a connection to the database that broke is in the next answer, without a check', async () => {
  await using folder = await tempFolder();
  const clock = new FakeClock();
  const stop = new AbortController();
  const database = { isConnected: true, checks: 0 };
  const { read, done } = readiness({
    isConnected: () => database.isConnected,
    isAnswering: async () => {
      database.checks++;
      return database.isConnected;
    },
    blobs: { checkWritable: async () => {} },
    dataFolder: folder.path,
    certificate: () => ({ problems: [], isStrictTransport: false }),
    clock,
    log: captureLog(clock).log,
    stop: stop.signal,
  });
  assert.equal((await read()).word, 'ok');
  database.isConnected = false;
  const broken = await read();
  assert.equal(broken.word, 'unavailable');
  assert.deepEqual(broken.checks[0], { name: 'database', problem: 'does not answer' });
  assert.equal(database.checks, 1);
  database.isConnected = true;
  await clock.advance(databaseEveryMs);
  assert.equal((await read()).word, 'ok');
  stop.abort();
  await clock.advance(databaseEveryMs);
  await done;
});
