// One ID names a request in its response, in its error and in the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { createLog, type LogLine } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { cloudOptions } from '../src/options.ts';
import { startServer } from '../src/server.ts';
import { testDatabase } from './database.ts';
import { testServer } from './server.ts';

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

test('responses and errors of calls and pages carry the ID of their request', async () => {
  await using on = await testServer();
  const { localUrl } = on.server;
  const headers: (string | null)[] = [];
  for (const path of ['/livez', '/nothing', '/metrics'])
    headers.push((await fetch(localUrl + path)).headers.get('x-request-id'));
  for (const id of headers) assert.match(id ?? '', uuid);
  assert.equal(new Set(headers).size, headers.length);
  const page = await fetch(`${localUrl}/metrics`);
  const { metadata } = (await page.json()) as { metadata: Record<string, string> };
  assert.equal(metadata['request_id'], page.headers.get('x-request-id'));

  const app = await on.client(AppService);
  const refused = await app.getRobot({ id: 'none' }).catch((error: unknown) => ConnectError.from(error));
  assert.ok(refused instanceof ConnectError);
  const [info] = refused.findDetails(ErrorInfoSchema);
  assert.match(info?.metadata['request_id'] ?? '', uuid);
  assert.equal(info?.metadata['request_id'], refused.metadata.get('x-request-id'));
  const withoutKey = await fetch(`${localUrl}/${AppService.typeName}/GetRobot`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(withoutKey.status, 401);
  assert.ok((await withoutKey.text()).includes('"details"'));
});

test('an ID that a client sends counts from a trusted proxy alone, and only if it cannot break a log', async () => {
  const sent = { headers: { 'x-request-id': 'proxy-7f3a' } };
  const idOf = async (url: string, init: RequestInit): Promise<string> =>
    (await fetch(`${url}/livez`, init)).headers.get('x-request-id') ?? '';
  {
    await using on = await testServer();
    assert.match(await idOf(on.server.localUrl, sent), uuid);
  }
  await using on = await testServer(['--trusted-proxy', '127.0.0.1']);
  assert.equal(await idOf(on.server.localUrl, sent), 'proxy-7f3a');
  for (const bad of ['', 'a b', 'x'.repeat(129), 'a"b'])
    assert.match(await idOf(on.server.localUrl, { headers: { 'x-request-id': bad } }), uuid, bad);
});

test('each line that a request logs has its ID, also after it waited', async () => {
  await using database = await testDatabase();
  await using folder = await tempFolder();
  const lines: LogLine[] = [];
  const log = createLog({ name: 'cloud', clock: systemClock, level: 'debug', sink: (line) => void lines.push(line) });
  const { connection } = database;
  assert.equal(connection.is, 'socket');
  const { user, database: name, host, port } = connection;
  const databaseUrl = `postgresql://${user}@localhost/${name}?host=${encodeURIComponent(host)}&port=${port}`;
  const options = cloudOptions(['--data-dir', folder.path, '--port', '0', '--database-url', databaseUrl], {});
  const broken = new Error('a defect');
  const server = await startServer(options, {
    clock: systemClock,
    log,
    around: { blobs: (blobs) => ({ ...blobs, put: () => systemClock.sleep(1).then(() => Promise.reject(broken)) }) },
  });
  try {
    const { apiKeyId, apiKey } = server.firstRun;
    const bytes = Buffer.from('x');
    const sha256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
    const answers = await Promise.all(
      [1, 2].map(() =>
        fetch(`${server.localUrl}/blobs/${sha256}`, {
          method: 'PUT',
          headers: { key_id: apiKeyId, key: apiKey },
          body: bytes,
        }),
      ),
    );
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([500]));
    const failed = lines.filter(({ message }) => message === 'a call failed unexpectedly');
    assert.deepEqual(new Set(failed.map(({ fields }) => fields['requestId'])), new Set(ids));
  } finally {
    await server.close();
  }
});
