/** A runner somewhere else: one address, one token, over TLS. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { QueueServer } from './queue-server.ts';

const program = fileURLToPath(new URL('runner-with-fake-trainer.ts', import.meta.url));
const tlsFile = (name: string): string => fileURLToPath(new URL(`../../cloud/test/tls/${name}`, import.meta.url));

test('joins with a token over TLS, and goes on when the server comes back', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const tls = { cert: await readFile(tlsFile('cert.pem'), 'utf8'), key: await readFile(tlsFile('key.pem'), 'utf8') };
  const url = await server.start({ tls });
  const runner = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program],
    env: plainEnvironment({ NODE_EXTRA_CA_CERTS: tlsFile('cert.pem'), TEST_URL: url, TEST_FOLDER: folder.path }),
    logFile: folder.file('runner.log'),
  });
  try {
    const first = server.submit();
    await server.until('completed', () => first.state === 'completed');
    const says = (pattern: RegExp): Promise<void> =>
      server.untilAsync(String(pattern), async () => pattern.test(await readFile(folder.file('runner.log'), 'utf8')));
    await says(/the job ended/);
    await server.stop();
    await says(/the server cannot be reached/);
    await server.start({ tls, port: Number(new URL(url).port) });
    const second = server.submit();
    await server.until('completed again', () => second.state === 'completed');
    assert.equal(second.attempt, 1);
  } finally {
    await runner.stop({ termMs: 10_000 });
  }
  assert.ok(!(await readFile(folder.file('runner.log'), 'utf8')).includes('key-id:key'));
});

test('without trust in the certificate nothing is sent', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const tls = { cert: await readFile(tlsFile('cert.pem'), 'utf8'), key: await readFile(tlsFile('key.pem'), 'utf8') };
  const runner = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program],
    env: plainEnvironment({ TEST_URL: await server.start({ tls }), TEST_FOLDER: folder.path }),
    logFile: folder.file('runner.log'),
  });
  try {
    await server.untilAsync('a warning', async () =>
      /server cannot be reached.*certificate/.test(await readFile(folder.file('runner.log'), 'utf8')),
    );
    assert.deepEqual(server.calls, []);
  } finally {
    await runner.stop({ termMs: 10_000 });
  }
});
