// `npm start` for remote machines: it listens on every address, with a certificate for a name that this host does not
// resolve.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createPlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { checkout, dataFolder, startUp } from '../src/up-process.ts';

const tls = path.join(checkout, 'apps', 'cloud', 'test', 'tls');
const certificate = path.join(tls, 'names.pem');

test('npm start --host 0.0.0.0 with a certificate: it releases, its runner is online, its sign-in link and its install line work by name', async () => {
  await using folder = await dataFolder();
  const flags = [
    '--empty',
    '--host',
    '0.0.0.0',
    '--tls-cert',
    certificate,
    '--tls-key',
    path.join(tls, 'names-key.pem'),
  ];
  const up = await startUp(folder.path, ...flags);
  try {
    const ready = (await up.answer) as Record<string, string> | undefined;
    assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));
    const url = ready['url'] ?? '';
    const { hostname, port } = new URL(url);
    assert.equal(hostname, 'platform.example.com');
    assert.ok(ready['sign_in_url']?.startsWith(`${url}/sign-in?token=`));

    const client = createPlatformClient({
      baseUrl: `http://127.0.0.1:${port}`,
      credentials: { type: 'api-key', authEntity: ready['api_key_id'] ?? '', payload: ready['api_key'] ?? '' },
    });
    const runnerIsOnline = async (): Promise<boolean> =>
      (await client.runnerClient.listRunners({ organizationId: ready['org_id'] ?? '' })).runners.some(
        (one) => one.online,
      );
    const isReleased = async (): Promise<boolean> =>
      (await client.releaseClient.listReleases('platform-agent')).some((one) => one.channels.includes('stable'));
    while (!(await runnerIsOnline()) || !(await isReleased())) await systemClock.sleep(100);

    const curl = async (...args: string[]): Promise<string> =>
      (
        await promisify(execFile)(
          'curl',
          ['-sS', '--cacert', certificate, '--resolve', `${hostname}:${port}:127.0.0.1`, ...args],
          { encoding: 'utf8' },
        )
      ).stdout;
    assert.match(await curl(`${url}/install.sh`), new RegExp(`^server_url='${url}'$`, 'm'));
    const link = new URL(ready['sign_in_url'] ?? '');
    const form = ['-d', link.search.slice(1), `${url}${link.pathname}`];
    const signedIn = await curl('-o', '/dev/null', '-w', '%{http_code} %{redirect_url}', ...form);
    assert.equal(signedIn, `303 ${url}/`);
  } finally {
    up.group.signal('SIGINT');
    await up.group.exited;
  }
});
