// nginx and Caddy in front of the server, with the files that the documentation shows. Only ports and paths are replaced.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { issue, tempFolder, type TempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { checkout } from '../src/up-process.ts';

const files = path.join(checkout, 'docs', 'examples', 'proxies');
const host = 'platform.example.com';
const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + day };
const authority = issue({ name: 'Authority of a test', ...validity, authority: true });
const site = issue({ name: host, ...validity, by: authority, dns: [host] });

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Ports = { front: number; cloud: number };

async function configOf(folder: TempFolder, name: string, { front, cloud }: Ports): Promise<string> {
  const text = await readFile(path.join(files, name), 'utf8');
  return text
    .replace('listen 443', `listen 127.0.0.1:${front}`)
    .replace(`${host}:443`, `${host}:${front}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${cloud}`)
    .replaceAll('/etc/ssl/platform', folder.path);
}

const proxies: [
  name: string,
  start: (folder: TempFolder, ports: Ports) => Promise<{ command: string; args: string[] }>,
][] = [
  [
    'nginx',
    async (folder, ports) => {
      const http = await configOf(folder, 'nginx.conf', ports);
      await mkdir(folder.file('tmp'), { mode: 0o777 });
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (one) => `${one}_temp_path ${folder.file('tmp')}/${one};`,
      );
      const outer = `daemon off; pid ${folder.file('pid')}; error_log stderr; events {}\nhttp { access_log off; ${places.join(' ')}\n${http}\n}\n`;
      await writeFile(folder.file('nginx.conf'), outer);
      return { command: 'nginx', args: ['-p', folder.path, '-c', folder.file('nginx.conf')] };
    },
  ],
  [
    'caddy',
    async (folder, ports) => {
      const options = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n';
      await writeFile(folder.file('Caddyfile'), `${options}${await configOf(folder, 'Caddyfile', ports)}`);
      return { command: 'caddy', args: ['run', '--adapter', 'caddyfile', '--config', folder.file('Caddyfile')] };
    },
  ],
];
for (const [name, start] of proxies)
  test(`${name} in front: install line, sign-in, gRPC and uploads, by the public name; what a client claims does not count`, async () => {
    await using folder = await tempFolder();
    await writeFile(folder.file('cert.pem'), `${site.cert}${authority.cert}`);
    await writeFile(folder.file('key.pem'), site.key);
    await writeFile(folder.file('authority.pem'), authority.cert);
    await using cloud = await startCloud('--trusted-proxy', '127.0.0.1');
    const ports = { front: await freePort(), cloud: cloud.ready.port };
    const proxy = await spawnGroup({
      ...(await start(folder, ports)),
      env: { PATH: process.env['PATH'], HOME: folder.path },
      logFile: folder.file('proxy.log'),
    });
    try {
      const base = `https://${host}:${ports.front}`;
      const curl = async (...args: string[]): Promise<string> => {
        const known = ['--cacert', folder.file('authority.pem'), '--resolve', `${host}:${ports.front}:127.0.0.1`];
        return (await promisify(execFile)('curl', ['-sS', ...known, ...args])).stdout;
      };
      for (let isUp = ''; isUp !== 'ok\n'; isUp = await curl(`${base}/livez`).catch(() => ''))
        await systemClock.sleep(50);
      const forged = ['x-forwarded-host: evil.example', 'x-forwarded-proto: http', 'x-forwarded-for: 203.0.113.9'];
      const claims = forged.flatMap((header) => ['-H', header]);
      for (const more of [[], claims])
        assert.match(await curl(...more, `${base}/install.sh`), new RegExp(`^server_url='${base}'$`, 'm'));

      const { pathname, search } = new URL(cloud.ready.sign_in_url);
      const signIn = await curl('-i', ...claims, `${base}${pathname}${search}`);
      assert.match(signIn, /303/);
      assert.match(signIn, /set-cookie: .*; Secure/i);
      const cookie = /set-cookie: ([^;]+)/i.exec(signIn)?.[1] ?? '';
      const json = ['-H', 'content-type: application/json', '-H', 'connect-protocol-version: 1'];
      const call = (origin: string): Promise<string> =>
        curl(
          '-H',
          `cookie: ${cookie}`,
          '-H',
          `origin: ${origin}`,
          ...json,
          '-d',
          '{}',
          `${base}/${AppService.typeName}/ListOrganizations`,
        );
      assert.match(await call(base), /"organizations":\[/);
      assert.match(await call('https://evil.example'), /unauthenticated/);

      const transport = createGrpcTransport({
        baseUrl: base,
        nodeOptions: {
          ca: authority.cert,
          lookup: (_, __, found) => found(null, [{ address: '127.0.0.1', family: 4 }] as never),
        },
      });
      const { api_key_id: entity, api_key: payload } = cloud.ready;
      const auth = createClient(AuthService, transport);
      const { accessToken } = await auth.authenticate({ entity, credentials: { type: 'api-key', payload } });
      const headers = { authorization: `Bearer ${accessToken}` };
      const { organizations } = await createClient(AppService, transport).listOrganizations({}, { headers });
      assert.equal(organizations.length, 1);

      const bytes = randomBytes(3_000_000);
      await writeFile(folder.file('blob'), bytes);
      const blob = `${base}/blobs/${createHash('sha256').update(bytes).digest('hex')}`;
      const bearer = ['-H', `authorization: Bearer ${accessToken}`];
      assert.match(
        await curl('-o', '/dev/null', '-w', '%{http_code}', ...bearer, '-T', folder.file('blob'), blob),
        /^20[01]$/,
      );
    } catch (error) {
      throw new Error(await readFile(folder.file('proxy.log'), 'utf8').catch(() => ''), { cause: error });
    } finally {
      await proxy.stop({ termMs: 5_000 });
    }
  });
