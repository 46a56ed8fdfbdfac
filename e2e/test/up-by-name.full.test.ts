// The whole story of `npm start` on every address. The certificate is for a name that this host does not resolve.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { checkout, dataFolder, startUp } from '../src/up-process.ts';

const tls = path.join(checkout, 'apps', 'cloud', 'test', 'tls');

test('npm start --host 0.0.0.0 with a certificate passes the whole story', async () => {
  await using folder = await dataFolder();
  const flags = ['--once', '--small', '--host', '0.0.0.0'];
  const pair = ['--tls-cert', path.join(tls, 'names.pem'), '--tls-key', path.join(tls, 'names-key.pem')];
  const up = await startUp(folder.path, ...flags, ...pair);
  const answer = await up.answer;
  await up.group.exited;
  assert.equal(answer?.['ok'], true, await up.stderr);
});
