// The server URL that users, machines and the server's own processes receive.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { cloudOptions } from '../src/options.ts';
import { openPorts, type Ports } from '../src/wire/ports.ts';
import { startServer } from '../src/server.ts';
import { testLog, testUnhandled } from './database.ts';
import { bearer, testServer, type TestServer } from './server.ts';

const tlsFile = (name: string): string => path.join(import.meta.dirname, 'tls', name);
const tlsFlags = (name: string, key: string): string[] => ['--tls-cert', tlsFile(name), '--tls-key', tlsFile(key)];

type Answer = { status: number; headers: http.IncomingHttpHeaders; body: string };

/** Sends one request to the port of a server, with any host name. */
async function ask(
  on: TestServer,
  target: string,
  of: { headers?: http.OutgoingHttpHeaders; tls?: boolean; body?: string } = {},
): Promise<Answer> {
  const { request } = of.tls ? https : http;
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const { port } = on.server;
  const method = of.body === undefined ? 'GET' : 'POST';
  const options = {
    host: '127.0.0.1',
    port,
    path: target,
    method,
    headers: of.headers ?? {},
    rejectUnauthorized: false,
  };
  request(options, resolve).on('error', reject).end(of.body);
  const answer = await promise;
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

/** Returns the URL from the installer, the credentials file and the app. */
async function urlsFor(on: TestServer, headers: http.OutgoingHttpHeaders, tls = false): Promise<string[]> {
  const { partId } = await on.machine(`m${Math.random()}`);
  const key = { key_id: on.owner.entity, key: on.owner.payload };
  const script = await ask(on, '/install.sh', { headers, tls });
  const file = await ask(on, `/api/json1/config?client=true&id=${partId}`, { headers: { ...headers, ...key }, tls });
  const call = await ask(on, '/platform.fleet.v1.FleetService/GetCredentials', {
    headers: {
      ...headers,
      authorization: `Bearer ${await on.token(on.owner)}`,
      'content-type': 'application/json',
      'connect-protocol-version': '1',
    },
    tls,
    body: JSON.stringify({ partId }),
  });
  const { credentialsJson } = JSON.parse(call.body) as { credentialsJson: string };
  const addressIn = (json: string): string =>
    (JSON.parse(json) as { cloud: { app_address: string } }).cloud.app_address;
  return [
    /^server_url='(.*)'$/m.exec(script.body)?.[1] ?? script.body,
    addressIn(file.body),
    addressIn(credentialsJson),
  ];
}

const withPort = (url: string): string =>
  new URL(url).port === '' ? `${url}:${url.startsWith('https') ? 443 : 80}` : url;
const all = (url: string): string[] => [url, withPort(url), withPort(url)];

test('a certificate gives the URL, whatever the server listens on and however it was reached', async () => {
  const cases: { files: [cert: string, key: string]; host: string }[] = [
    { files: ['names.pem', 'names-key.pem'], host: 'platform.example.com' },
    { files: ['addresses.pem', 'addresses-key.pem'], host: '192.0.2.7' },
  ];
  for (const { files, host } of cases) {
    await using on = await testServer(['--host', '0.0.0.0', ...tlsFlags(...files)]);
    const url = `https://${host}:${on.server.port}`;
    assert.equal(on.server.url, url);
    assert.ok(on.server.signInUrl.startsWith(`${url}/sign-in?token=`));
    assert.deepEqual(await urlsFor(on, {}, true), all(url));
    assert.deepEqual(await urlsFor(on, { host: 'elsewhere.example' }, true), all(url));
  }
});

test('the public URL goes before the certificate', async () => {
  await using on = await testServer([
    '--public-url',
    'https://front.example/',
    ...tlsFlags('wildcard.pem', 'wildcard-key.pem'),
  ]);
  assert.equal(on.server.url, 'https://front.example');
  assert.deepEqual(await urlsFor(on, {}, true), all('https://front.example'));
});

test('without either, the URL is the one that the request came by', async () => {
  await using on = await testServer();
  assert.deepEqual(await urlsFor(on, { host: 'barn.lan:9000' }), all('http://barn.lan:9000'));
});

const forwarded = {
  'x-forwarded-host': 'front.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-for': '203.0.113.9',
};
const proxied: [name: string, proxy: string, headers: http.OutgoingHttpHeaders, url: string][] = [
  ['a trusted proxy', '127.0.0.1', forwarded, 'https://front.example'],
  [
    'one that passes on Host and scheme',
    '127.0.0.1',
    { host: 'front.example', 'x-forwarded-proto': 'https' },
    'https://front.example',
  ],
  [
    'what a client made up stands before',
    '127.0.0.1',
    { ...forwarded, 'x-forwarded-host': 'evil.example, front.example' },
    'https://front.example',
  ],
  [
    'no host at all',
    '127.0.0.1',
    { ...forwarded, host: 'front.example', 'x-forwarded-host': '$(reboot)' },
    'https://front.example',
  ],
  ['an unknown host', '192.0.2.1', { host: 'barn.lan', ...forwarded }, 'http://barn.lan'],
];
for (const [name, proxy, headers, url] of proxied)
  test(`forwarded headers: ${name}`, async () => {
    await using on = await testServer(['--trusted-proxy', proxy]);
    assert.deepEqual(await urlsFor(on, headers), all(url));
  });

test('the session of a browser behind a trusted proxy: its cookie is secure, its address is kept, its pages may call', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1']);
  const { pathname, search } = new URL(on.server.signInUrl);
  const { headers } = await ask(on, pathname, { headers: forwarded, body: search.slice(1) });
  const [cookie = ''] = headers['set-cookie'] ?? [];
  assert.match(cookie, /^__Host-platform_session=.*; Secure$/);
  const rows = await on.db.selectFrom('audit').select('details').where('action', '=', 'sign in').execute();
  assert.deepEqual(rows, [{ details: { by: 'sign-in link', address: '203.0.113.9' } }]);
  await assertMayCall(on, cookie, forwarded);
});

test('the session of a browser behind a proxy that passes on a Host of its own', async () => {
  await using on = await testServer(['--public-url', 'https://front.example']);
  const { pathname, search } = new URL(on.server.signInUrl);
  const { headers } = await ask(on, pathname, { body: search.slice(1) });
  await assertMayCall(on, headers['set-cookie']?.[0] ?? '', {});
});

/** Pages of https://front.example may call; pages of other origins may not. */
async function assertMayCall(on: TestServer, setCookie: string, headers: http.OutgoingHttpHeaders): Promise<void> {
  const call = async (origin: string): Promise<number> =>
    (
      await fetch(`http://127.0.0.1:${on.server.port}/platform.app.v1.AppService/ListOrganizations`, {
        method: 'POST',
        headers: {
          ...(headers as Record<string, string>),
          origin,
          cookie: setCookie.split(';', 1)[0] ?? '',
          'connect-protocol-version': '1',
          'content-type': 'application/json',
        },
        body: '{}',
      })
    ).status;
  assert.equal(await call('https://front.example'), 200);
  assert.equal(await call('https://evil.example'), 401);
}

test('programs of this host: on loopback without TLS, with the public URL; machines of this host: with the address inside', async () => {
  await using on = await testServer(['--host', '0.0.0.0', ...tlsFlags('names.pem', 'names-key.pem')]);
  const { port, localUrl, insideUrl, url } = on.server;
  assert.equal(localUrl, `http://127.0.0.1:${port}`);
  assert.notEqual(insideUrl, localUrl);
  const token = await on.token(on.owner);
  const { partId } = await on.machine('m');
  const addressBy = async (baseUrl: string): Promise<string> => {
    const transport = createConnectTransport({ baseUrl, httpVersion: '1.1', interceptors: [bearer(token)] });
    const { credentialsJson } = await createClient(FleetService, transport).getCredentials({ partId });
    return (JSON.parse(credentialsJson) as { cloud: { app_address: string } }).cloud.app_address;
  };
  assert.equal(await addressBy(localUrl), url);
  assert.equal(await addressBy(insideUrl), insideUrl);
});

test('a server on one address of its own is on loopback, too', async (t) => {
  const own = ownAddress();
  if (own === undefined) return t.diagnostic('this host has no other address than loopback');
  await using on = await testServer([
    '--host',
    own,
    '--public-url',
    'https://front.example',
    ...tlsFlags('names.pem', 'names-key.pem'),
  ]);
  assert.equal((await fetch(`${on.server.localUrl}/livez`)).status, 200);
  assert.equal((await fetch(`${on.server.insideUrl}/livez`)).status, 200);
});

test('the port for machines of this host stays over restarts', async () => {
  await using folder = await tempFolder();
  const open = async (): Promise<Ports> =>
    openPorts({
      listener: (_, response) => void response.end('ok'),
      options: {
        host: '127.0.0.1',
        port: 0,
        allowPlaintext: false,
        clock: systemClock,
        log: testLog,
        unhandled: testUnhandled,
      },
      publicUrlOf: () => 'https://front.example',
      dataFolder: folder.path,
    });
  const first = await open();
  const beside = await open();
  assert.notEqual(beside.insideUrl, first.insideUrl, 'a port that is taken is not waited for');
  await Promise.all([first.close(0), beside.close(0)]);
  const next = await open();
  assert.equal(next.insideUrl, beside.insideUrl);
  assert.equal(await (await fetch(next.insideUrl)).text(), 'ok');
  await next.close(0);
});

const refused: [name: string, flags: string[], problem: RegExp][] = [
  [
    'a wildcard alone',
    tlsFlags('wildcard.pem', 'wildcard-key.pem'),
    /--public-url.*only the wildcard \*\.example\.com/,
  ],
  ['a certificate without names', tlsFlags('none.pem', 'none-key.pem'), /--public-url.*no DNS name/],
  ['the key of another certificate', tlsFlags('names.pem', 'none-key.pem'), /--tls-key.*names\.pem/],
  ['no certificate in the file', tlsFlags('key.pem', 'key.pem'), /--tls-cert.*no certificate/],
  ['no such file', tlsFlags('absent.pem', 'key.pem'), /--tls-cert.*absent\.pem/],
  ['a public URL with a path', ['--public-url', 'https://front.example/platform'], /--public-url.*no path/],
];
for (const [name, flags, problem] of refused)
  test(`refused at start: ${name}`, async () => {
    await using folder = await tempFolder();
    const options = cloudOptions(['--data-dir', folder.path, '--port', '0', ...flags], {});
    await assert.rejects(startServer(options, { clock: systemClock, log: testLog }), {
      name: 'PlatformError',
      code: 'INVALID_ARGUMENT',
      message: problem,
    });
  });

/** Finds an IPv4 address of this host that is not on loopback. */
function ownAddress(): string | undefined {
  const rows = readFileSync('/proc/net/fib_trie', 'utf8').match(/(\d+\.){3}\d+(?=\n\s+\/32 host LOCAL)/g) ?? [];
  return rows.find((address) => net.isIPv4(address) && !address.startsWith('127.'));
}
