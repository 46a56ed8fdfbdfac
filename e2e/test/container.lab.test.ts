// The server in a container: an image that buildah makes on a root of debootstrap, started by podman and by the compose file.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { issue, type TempFolder, tempFolder } from '@platform/kit/testing';
import { buildServerImage, compose, podman, serverImage } from '../lab/container.ts';
import { eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { freePort, proxyHost as host } from '../src/proxies.ts';
import { checkout } from '../src/up-process.ts';

const day = 86_400_000;
const data = '/var/lib/platform-management';

async function tlsFolder(): Promise<TempFolder> {
  const validity = { from: Date.now() - day, to: Date.now() + day };
  const authority = issue({ name: 'Authority of a test', ...validity, authority: true });
  const site = issue({ name: host, ...validity, by: authority, dns: [host] });
  const folder = await tempFolder();
  // The user of the container is not the user of this test.
  await promisify(execFile)('chmod', ['755', folder.path]);
  await writeFile(folder.file('cert.pem'), `${site.cert}${authority.cert}`);
  await writeFile(folder.file('key.pem'), site.key, { mode: 0o644 });
  await writeFile(folder.file('authority.pem'), authority.cert);
  return folder;
}

const readyAt = (tls: TempFolder, port: number): Promise<string> =>
  eventually('the server is ready', 600, async () => {
    const known = ['--cacert', tls.file('authority.pem'), '--resolve', `${host}:${port}:127.0.0.1`];
    const answer = promisify(execFile)('curl', ['-sS', ...known, `https://${host}:${port}/readyz`]);
    return answer.then(
      ({ stdout }) => (stdout.startsWith('ok\n') ? stdout : undefined),
      () => undefined,
    );
  });

/** The keys of the first start, which only the same data have. */
const firstKey = (name: string): Promise<string> =>
  podman('exec', name, 'sh', '-c', `sha256sum ${data}/cloud/secrets.json`);

test('the server in a container', { timeout: 3_000_000 }, async (t) => {
  const build = await timed(buildServerImage);
  const size = Number(await podman('image', 'inspect', '--format', '{{.Size}}', serverImage));
  await keep(
    'image of the server by buildah',
    'operations',
    build.seconds,
    `${Math.round(size / 2 ** 20)} MiB with its base`,
  );
  await using tls = await tlsFolder();

  await t.test('podman: an ordinary user, healthy, data in its volume, stops in order', async () => {
    const [name, port] = [`lab-${randomBytes(4).toString('hex')}`, await freePort()];
    const options = ['-p', `127.0.0.1:${port}:8080`, '-v', `${name}:${data}`, '-v', `${tls.path}:/etc/platform/tls:ro`];
    const url = ['--public-url', `https://${host}:${port}`];
    const start = (): Promise<string> => podman('run', '-d', '--name', name, ...options, serverImage, ...url);
    try {
      const begin = await timed(async () => {
        await start();
        await readyAt(tls, port);
      });
      await keep('container: first start until it is ready', 'operations', begin.seconds);
      assert.equal(await podman('exec', name, 'id', '-u'), '10001');
      const users = new Set((await podman('exec', name, 'sh', '-c', 'stat -c %u /proc/[0-9]*')).split('\n'));
      assert.deepEqual([...users], ['10001']);
      await podman('healthcheck', 'run', name);
      const before = await firstKey(name);
      const end = await timed(() => podman('stop', '-t', '60', name));
      assert.equal(await podman('inspect', '--format', '{{.State.ExitCode}}', name), '0');
      await keep('container: stop in order', 'operations', end.seconds);
      await podman('rm', name);
      await start();
      await readyAt(tls, port);
      assert.equal(await firstKey(name), before);
    } catch (error) {
      throw new Error(await podman('logs', name).catch(String), { cause: error });
    } finally {
      await podman('rm', '-f', '-t', '20', '-v', name).catch(() => '');
      await podman('volume', 'rm', '-f', name);
    }
  });

  await t.test('the compose file', async () => {
    await using folder = await tempFolder();
    for (const file of ['compose.yaml', 'Caddyfile'])
      await copyFile(path.join(checkout, 'deploy', file), folder.file(file));
    const port = await freePort();
    const env = { PLATFORM_IMAGE: serverImage, PLATFORM_TLS: tls.path, PLATFORM_LISTEN: `127.0.0.1:${port}` };
    try {
      await compose(folder.path, env, 'up', '-d');
      await readyAt(tls, port);
    } finally {
      await compose(folder.path, env, 'down', '-v');
    }
  });
});
