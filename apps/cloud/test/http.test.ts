import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { tempFolder } from '@platform/kit/testing';
import { webPages } from '../src/web/web-pages.ts';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';
import { cookieIn, signIn } from './sign-in.ts';

const hexOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const put = async (
  on: TestServer,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
  name = hexOf(bytes),
): Promise<Response> =>
  fetch(`${on.url}/blobs/${name}`, {
    method: 'PUT',
    body: bytes,
    headers: { authorization: `Bearer ${await on.token(on.owner)}`, ...headers },
  });

test('files: stored once, verified, seen by their organization alone, in ranges', async () => {
  await using on = await testServer(['--max-blob-mib', '1']);
  const bytes = randomBytes(100_000);
  const sha256 = hexOf(bytes);
  assert.equal((await put(on, bytes)).status, 201);
  assert.equal((await put(on, bytes)).status, 200);
  const authorization = `Bearer ${await on.token(on.runner)}`;
  const get = (headers: Record<string, string>, method = 'GET', name = sha256) =>
    fetch(`${on.url}/blobs/${name}`, { method, headers });
  const whole = await get({ authorization });
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), bytes);
  assert.equal(whole.headers.get('etag'), `"${sha256}"`);

  const ranges: [range: string, status: number, content: string | null, part: Buffer | undefined][] = [
    ['bytes=0-0', 206, 'bytes 0-0/100000', bytes.subarray(0, 1)],
    ['bytes=99990-', 206, 'bytes 99990-99999/100000', bytes.subarray(99_990)],
    ['bytes=-5', 206, 'bytes 99995-99999/100000', bytes.subarray(99_995)],
    ['bytes=5-1000000', 206, 'bytes 5-99999/100000', bytes.subarray(5)],
    ['bytes=100000-', 416, 'bytes */100000', undefined],
    ['bytes=-0', 416, 'bytes */100000', undefined],
    ['bytes=5-4', 200, null, bytes],
    ['bytes=0-1,3-4', 200, null, bytes],
    ['lines=1-2', 200, null, bytes],
  ];
  for (const [range, status, content, part] of ranges) {
    const answer = await get({ authorization, range });
    assert.deepEqual([answer.status, answer.headers.get('content-range')], [status, content], range);
    const body = Buffer.from(await answer.arrayBuffer());
    if (part) assert.deepEqual(body, part, range);
  }
  assert.equal((await get({ authorization, 'if-none-match': `"${sha256}"` })).status, 304);
  const head = await get({ authorization }, 'HEAD');
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '100000']);

  assert.equal((await get({})).status, 401);
  assert.equal((await get({ authorization }, 'GET', hexOf(Buffer.from('x')))).status, 404);
  assert.equal((await get({ authorization }, 'GET', '..%2f..%2fsecrets.json')).status, 404);
  assert.equal((await put(on, bytes, {}, hexOf(Buffer.from('other')))).status, 422);
  assert.equal((await put(on, Buffer.alloc(1024 * 1024 + 1))).status, 429);
  assert.equal((await put(on, bytes, {}, 'short')).status, 400);
  const { part } = await on.machine('m');
  assert.equal(
    (await put(on, Buffer.from('by a machine'), { authorization: `Bearer ${await on.token(part)}` })).status,
    403,
  );
});

test('releases: published once, downloaded without credentials, resolved for agents of both products', async () => {
  await using on = await testServer();
  const releases = await on.client(ReleaseService);
  const bytes = Buffer.from('#!/bin/sh\necho 1\n');
  const sha256 = createHash('sha256').update(bytes).digest();
  const release = {
    name: 'platform-server',
    version: '0.1.0',
    platform: 'linux/amd64',
    sha256,
    sizeBytes: BigInt(bytes.length),
    channels: ['stable'],
  };
  assert.equal(await failure(releases.publishRelease(release)), 'FailedPrecondition BLOB_MISSING');
  await put(on, bytes);
  const { release: published } = await releases.publishRelease(release);
  assert.equal(published?.url, `${on.url}/releases/platform-server/0.1.0/linux-amd64/platform-server`);
  assert.deepEqual((await releases.publishRelease(release)).release?.channels, ['stable']);

  const other = Buffer.from('other');
  await put(on, other);
  const changed = { ...release, sha256: createHash('sha256').update(other).digest(), sizeBytes: 5n };
  assert.equal(await failure(releases.publishRelease(changed)), 'AlreadyExists RELEASE_EXISTS');
  const refused: [string, object][] = [
    ['name', { name: 'other' }],
    ['version', { version: 'latest' }],
    ['platform', { platform: '../etc' }],
    ['sha256', { sha256: Buffer.alloc(31) }],
    ['size', { sizeBytes: 1n }],
    ['channel', { channels: ['nightly'] }],
  ];
  for (const [name, change] of refused) {
    assert.equal(
      await failure(releases.publishRelease({ ...release, ...change })),
      'InvalidArgument INVALID_ARGUMENT',
      name,
    );
  }
  const asRunner = await on.client(ReleaseService, on.runner);
  assert.equal(await failure(asRunner.publishRelease(release)), 'PermissionDenied PERMISSION_DENIED');

  const file = await fetch(published.url);
  assert.deepEqual(
    [file.status, file.headers.get('etag'), await file.text()],
    [200, `"${sha256.toString('hex')}"`, bytes.toString()],
  );
  assert.match(file.headers.get('last-modified') ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  const rest = await fetch(published.url, {
    headers: { range: 'bytes=10-', 'if-range': `"${sha256.toString('hex')}"` },
  });
  assert.deepEqual([rest.status, await rest.text()], [206, bytes.subarray(10).toString()]);
  assert.equal((await fetch(published.url.replace('0.1.0', '9.9.9'))).status, 404);

  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  const resolved = async (tags: string[], platform = 'linux/amd64') => {
    const { serverUpdateInfo: info } = await agent.deviceAgentConfig({ id: partId, hostInfo: { platform, tags } });
    return (
      info && [
        info.filename,
        info.version,
        info.url.replace(on.url, ''),
        Buffer.from(info.sha256).toString('hex').slice(0, 4),
      ]
    );
  };
  const hex = sha256.toString('hex').slice(0, 4);
  const path = '/releases/platform-server/0.1.0/linux-amd64/platform-server';
  assert.deepEqual(await resolved(['platform-agent']), ['platform-server', '0.1.0', path, hex]);
  assert.equal(await resolved(['rpi4']), undefined, 'never our program');
  await releases.publishRelease({ ...release, name: 'viam-server' });
  assert.deepEqual(await resolved(['rpi4']), ['viam-server', '0.1.0', path.replaceAll('platform-', 'viam-'), hex]);
  assert.equal(await resolved(['platform-agent'], 'linux/arm64'), undefined);
  const setVersion = (version: string) =>
    fleet.saveConfig({
      partId,
      configJson: JSON.stringify({ agent: { version_control: { 'platform-server': version } } }),
    });
  await setVersion('dev');
  assert.deepEqual((await resolved(['platform-agent']))?.[1], '0.1.0', 'without a dev release, dev is stable');
  await setVersion('7.0.0');
  assert.equal(await resolved(['platform-agent']), undefined);
  await setVersion('file:///opt/my-server');
  assert.deepEqual(await resolved(['platform-agent']), ['platform-server', 'customURL', 'file:///opt/my-server', '']);
  await put(on, other);
  await releases.publishRelease({ ...changed, version: '0.2.0', channels: ['stable'] });
  await setVersion('stable');
  assert.deepEqual((await resolved(['platform-agent']))?.[1], '0.2.0');
  await releases.setChannel({ name: 'platform-server', channel: 'stable', version: '0.1.0' });
  assert.deepEqual((await resolved(['platform-agent']))?.[1], '0.1.0');
  assert.equal(
    await failure(releases.setChannel({ name: 'platform-server', channel: 'stable', version: '3.0.0' })),
    'NotFound RELEASE_NOT_FOUND',
  );
});

test('a sign-in link asks first, and works from no page of another site', async () => {
  await using on = await testServer();
  const link = on.server.signInUrl;
  // Programs that scan mails open links, some of them twice.
  for (const what of ['opened', 'opened again']) {
    const asked = await fetch(link, { redirect: 'manual' });
    assert.deepEqual([asked.status, asked.headers.get('set-cookie')], [200, null], what);
    assert.match(await asked.text(), /as <b>Owner<\/b>[^]*<form method="post" action="\/sign-in">/, what);
  }
  const foreign: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreign) {
    const answer = await signIn(link, headers);
    assert.deepEqual([answer.status, answer.headers.get('set-cookie')], [403, null], JSON.stringify(headers));
  }
  assert.equal((await signIn(link, { origin: on.url, 'sec-fetch-site': 'same-origin' })).status, 303);
  const used = await fetch(link, { redirect: 'manual', headers: { accept: 'text/html,*/*' } });
  assert.equal(used.status, 401);
  assert.match(await used.text(), /used before, or it has expired[^]*npm run -s platform -- sign-in/);
});

test('a sign-in link works once; the session speaks RPC from its own page only and ends with sign-out', async () => {
  await using on = await testServer();
  const link = on.server.signInUrl;
  const first = await signIn(link);
  const cookie = cookieIn(first);
  assert.deepEqual([first.status, first.headers.get('location')], [303, '/']);
  assert.match(
    first.headers.get('set-cookie') ?? '',
    /^platform_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
  );
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 401);
  assert.equal((await signIn(link)).status, 401);
  assert.equal((await signIn(link, { cookie })).status, 303);
  assert.equal((await fetch(`${on.url}/sign-in?token=x`, { redirect: 'manual' })).status, 401);
  assert.equal((await fetch(link, { redirect: 'manual', headers: { cookie } })).status, 303);

  const who = (headers: Record<string, string>) =>
    fetch(`${on.url}/platform.session.v1.SessionService/WhoAmI`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', ...headers },
    });
  const rpc = { cookie, 'connect-protocol-version': '1' };
  const me = (await (await who(rpc)).json()) as { kind: string; memberships: { role: string }[] };
  assert.deepEqual([me.kind, me.memberships.map((one) => one.role)], ['person', ['owner']]);
  assert.equal((await who({ ...rpc, origin: on.url })).status, 200);
  assert.equal((await who({ ...rpc, origin: 'http://evil.example' })).status, 401);
  assert.equal((await who({ cookie })).status, 401);
  assert.equal((await who({ 'connect-protocol-version': '1', cookie: 'platform_session=x' })).status, 401);

  const sessions = await on.client(SessionService);
  const { url } = await sessions.createSignInLink({});
  assert.equal((await signIn(url)).status, 303);
  assert.equal(
    await failure((await on.client(SessionService, on.runner)).createSignInLink({})),
    'PermissionDenied PERMISSION_DENIED',
  );

  const out = await fetch(`${on.url}/platform.session.v1.SessionService/SignOut`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', ...rpc },
  });
  assert.equal(out.status, 200);
  assert.equal((await who(rpc)).status, 401);
});

test('an image is checked before it is shown again, so one that was deleted is gone', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const { binaryDataId } = await (
    await on.client(DataSyncService)
  ).dataCaptureUpload({
    metadata: { partId, type: DataType.BINARY_SENSOR, fileExtension: '.jpg' },
    sensorContents: [{ data: { case: 'binary', value: Buffer.from('an image') } }],
  });
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${on.url}/data/${binaryDataId}`, { headers: { authorization, ...headers } });
  const first = await get();
  assert.deepEqual([first.status, first.headers.get('cache-control')], [200, 'private, no-cache']);
  const known = { 'if-none-match': first.headers.get('etag') ?? '' };
  assert.equal((await get(known)).status, 304);
  await (await on.client(DataService)).deleteBinaryDataByIDs({ binaryDataIds: [binaryDataId] });
  assert.equal((await get(known)).status, 404);
});

test('the installer gets the credentials file with a key, and nothing without', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const get = (headers: Record<string, string>, id = partId) =>
    fetch(`${on.url}/api/json1/config?client=true&id=${id}`, { headers });
  const answer = await get({ key_id: on.owner.entity, key: on.owner.payload });
  assert.deepEqual(await answer.json(), { cloud: { app_address: on.url, id: partId, secret: part.payload } });
  assert.equal((await get({ key_id: on.owner.entity, key: 'x' })).status, 401);
  assert.equal((await get({ key_id: on.runner.entity, key: on.runner.payload })).status, 403);
  assert.equal((await get({ key_id: on.owner.entity, key: on.owner.payload }, 'x')).status, 404);
  assert.equal((await get({})).status, 401);
});

test('the pages of the web app are the ones that it has', async () => {
  const routes = await readFile(join(import.meta.dirname, '../../web/src/app/routes.tsx'), 'utf8');
  const found = [...routes.matchAll(/path: '\/([^/']+)/g)].map(([, first = '']) => first);
  assert.deepEqual([...new Set(found)].toSorted(), [...webPages].toSorted());
});

test('the web app: pages, hashed files for ever, compression, no way out of its folder', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('dist', 'assets'), { recursive: true });
  await writeFile(folder.file('dist', 'index.html'), `<!doctype html>${'x'.repeat(2000)}`);
  await writeFile(folder.file('dist', 'assets', 'app-1a2b.js'), `console.log(1);${' '.repeat(5000)}`);
  await writeFile(folder.file('secret.txt'), 'secret');
  await using on = await testServer(['--web-dir', folder.file('dist')]);
  const page = await fetch(`${on.url}/machines/1`);
  assert.match(await page.text(), /^<!doctype html>/);
  assert.deepEqual(
    [page.status, page.headers.get('cache-control'), page.headers.get('x-frame-options')],
    [200, 'no-cache', 'DENY'],
  );
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'/);
  assert.equal((await fetch(on.url, { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })).status, 304);
  const script = await fetch(`${on.url}/assets/app-1a2b.js`, { headers: { 'accept-encoding': 'gzip, br' } });
  assert.deepEqual(
    [script.headers.get('content-encoding'), script.headers.get('cache-control')],
    ['br', 'public, max-age=31536000, immutable'],
  );
  assert.match(await script.text(), /^console/);
  assert.equal((await fetch(`${on.url}/assets/none.js`)).status, 404);
  for (const way of ['/..%2fsecret.txt', '/assets/..%2f..%2fsecret.txt', '/%2e%2e/secret.txt', '/assets/%00']) {
    assert.doesNotMatch(await (await fetch(on.url + way)).text(), /^secret/, way);
  }
  for (const health of ['/livez', '/healthz'])
    assert.equal(await (await fetch(on.url + health)).text(), 'ok\n', health);
  for (const unknown of ['/nothing', '/api', '/machine', '/.env', '/wp-login.php', '/livez/x', '/index.php/machines']) {
    const answer = await fetch(on.url + unknown);
    assert.deepEqual([answer.status, await answer.text()], [404, 'not found\n'], unknown);
    const browsed = await fetch(on.url + unknown, { headers: { accept: 'text/html,*/*;q=0.8' } });
    assert.equal(browsed.status, 404, unknown);
    assert.match(await browsed.text(), /^<!doctype html>/, 'the app says that there is no such page');
  }
  assert.equal((await fetch(on.url, { method: 'DELETE' })).status, 405);
});

test('a refused upload is read on, so that its client can read the answer', async () => {
  await using on = await testServer();
  const { hostname, port } = new URL(on.url);
  const body = randomBytes(4 * 1024 * 1024);
  const socket = net.connect({ host: hostname, port: Number(port) });
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  socket.write(`PUT /blobs/${hexOf(body)} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: ${body.length}\r\n\r\n`);
  await once(socket, 'data');
  socket.write(body);
  // Rejects if the server resets the connection.
  await once(socket, 'close');
  assert.match(answer, /^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*NOT_AUTHENTICATED/i);
});

test('two Host headers are refused: a proxy may have used the other one', async () => {
  await using on = await testServer();
  const { hostname, port } = new URL(on.server.localUrl);
  const answerTo = async (head: string): Promise<string> => {
    const socket = net.connect(Number(port), hostname);
    socket.write(`${head}connection: close\r\n\r\n`);
    return (await text(socket)).split('\r\n')[0] ?? '';
  };
  assert.match(await answerTo('GET /livez HTTP/1.1\r\nhost: a.example\r\n'), /^HTTP\/1\.1 200/);
  assert.match(await answerTo('GET /livez HTTP/1.1\r\nhost: a.example\r\nHost: b.example\r\n'), /^HTTP\/1\.1 400/);
  assert.match(await answerTo('GET /livez HTTP/1.1\r\nhost: a.example\r\nhost: a.example\r\n'), /^HTTP\/1\.1 400/);
});
