// How a machine handles a management server that fails, lies, stalls or is a foreign one: real sockets, real fetch.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AuthenticateResponseSchema } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { Cell, type Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { peerValidity } from '../src/os/peer-certificate.ts';
import { connectCloud } from '../src/link/cloud.ts';
import { answerLimitBytes, connectTransport } from '../src/link/transport.ts';
import { linkProblemIn } from '../src/link/link.ts';
import { certificate } from './certificate.ts';

type Answer = (request: IncomingMessage, answer: ServerResponse) => void;
const none = new AbortController().signal;
const proto = { 'content-type': 'application/proto' };

async function open(server: Server): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
/** Accepts every sign-in; `f` answers all other requests. */
const cloudWith = (f: Answer) =>
  open(
    createHttp((request, answer) => {
      if (!request.url?.endsWith('/Authenticate')) return f(request, answer);
      request.resume();
      const bytes = toBinary(AuthenticateResponseSchema, create(AuthenticateResponseSchema, { accessToken: 't' }));
      answer.writeHead(200, { ...proto, 'content-length': bytes.length }).end(bytes);
    }),
  );

function machine(appAddress: string, clock: Clock = systemClock) {
  const isReached = new Cell(true);
  const heard: number[] = [];
  const transport = connectTransport(appAddress, {
    clock,
    onDate: (ms) => heard.push(ms),
    validityOf: (url) => peerValidity(url, systemClock),
  });
  const credentials = { appAddress, partId: 'p', entity: 'p', type: 'robot-secret' as const, payload: 's' };
  return { cloud: connectCloud(transport, credentials, clock, { isReached }), isReached, heard };
}
/** Makes one request and returns its error message for the user. */
async function askedOf(appAddress: string, clock?: Clock): Promise<string> {
  const { cloud, isReached } = machine(appAddress, clock);
  const error: unknown = await cloud.deviceAgentConfig({ id: 'p' }, 0, none).then(
    () => assert.fail('it was answered'),
    (e: unknown) => e,
  );
  const problem = linkProblemIn(error);
  assert.ok(problem, `no problem of the link: ${String(error)}`);
  assert.equal(isReached.get(), false);
  assert.notEqual(problem.remedy, '');
  return `${problem.code}: ${problem.what}`.replaceAll(/127\.0\.0\.1:\d+|localhost:\d+/g, 'HOST');
}

const html = '<html><body>Welcome to our hotel. Please sign in.</body></html>';
const answers: readonly [string, Answer, RegExp][] = [
  ['500', (_, a) => a.writeHead(500).end('oops'), /^CLOUD_FAILS: The management server at http:\/\/HOST .*HTTP 500/],
  ['502 of a proxy, in HTML', (_, a) => a.writeHead(502, { 'content-type': 'text/html' }).end(html), /^CLOUD_FAILS: /],
  ['503 with Retry-After', (_, a) => a.writeHead(503, { 'retry-after': '7' }).end(), /^CLOUD_BUSY: .*HTTP 503/],
  ['429', (_, a) => a.writeHead(429, { 'retry-after': '7' }).end(), /^CLOUD_BUSY: .*HTTP 429/],
  [
    'HTML instead of protobuf',
    (_, a) => a.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
    /^CLOUD_NOT_RECOGNIZED: .*HTTP 200 with content of the type text\/html/,
  ],
  ['404 of another server', (_, a) => a.writeHead(404).end('not here'), /^CLOUD_NOT_RECOGNIZED: .*HTTP 404/],
  [
    'JSON that is not an RPC error',
    (_, a) => a.writeHead(400, { 'content-type': 'application/json' }).end('{"message":"hm"}'),
    /^CLOUD_NOT_RECOGNIZED: .*HTTP 400 with content of the type application\/json/,
  ],
  [
    'bytes that are not a message',
    (_, a) => a.writeHead(200, { ...proto, 'content-length': 3 }).end(Buffer.from([0xff, 0xff, 0xff])),
    /^CLOUD_NOT_RECOGNIZED: /,
  ],
  [
    'a redirect to plain http',
    (_, a) => a.writeHead(302, { location: 'http://elsewhere.example/login' }).end(),
    /^CLOUD_REDIRECTS: http:\/\/HOST redirects to http:\/\/elsewhere\.example\/login/,
  ],
  [
    'half a body',
    (_, a) => {
      a.writeHead(200, { ...proto, 'content-length': 100 });
      a.write('half', () => setImmediate(() => a.destroy()));
    },
    /^CLOUD_ANSWER_CUT: /,
  ],
  [
    'half a chunked body',
    (_, a) => {
      a.writeHead(200, proto);
      a.write('half', () => setImmediate(() => a.destroy()));
    },
    /^CLOUD_ANSWER_CUT: /,
  ],
  [
    'a body without a length, which may be half of one',
    (_, a) => {
      a.shouldKeepAlive = false;
      a.useChunkedEncodingByDefault = false;
      a.writeHead(200, proto);
      a.end(toBinary(DeviceAgentConfigResponseSchema, create(DeviceAgentConfigResponseSchema, { revision: 5n })));
    },
    /^CLOUD_ANSWER_CUT: /,
  ],
  [
    'a body of 10 GB by its own words',
    (_, a) => {
      a.writeHead(200, { ...proto, 'content-length': 10 * 2 ** 30 });
      a.write('x');
    },
    /^CLOUD_ANSWER_TOO_LARGE: .*4194304 bytes/,
  ],
  [
    'a small body that grows when it is unpacked',
    (_, a) => {
      const bytes = gzipSync(Buffer.alloc(32 * 2 ** 20));
      a.writeHead(200, { ...proto, 'content-encoding': 'gzip', 'content-length': bytes.length }).end(bytes);
    },
    /^CLOUD_ANSWER_TOO_LARGE: /,
  ],
];
for (const [name, answer, words] of answers) {
  test(`an answer of ${name}`, async () => {
    await using server = await cloudWith(answer);
    assert.match(await askedOf(`http://127.0.0.1:${server.port}`), words);
  });
}

test('a body without an end is read to the limit and no further', async () => {
  const sent = { bytes: 0, isCut: false };
  await using server = await cloudWith((_, answer) => {
    answer.writeHead(200, proto);
    const more = (): void => {
      while (!answer.destroyed && answer.write(Buffer.alloc(65_536))) sent.bytes += 65_536;
    };
    answer.on('drain', more);
    answer.on('close', () => (sent.isCut = true));
    more();
  });
  assert.match(await askedOf(`http://127.0.0.1:${server.port}`), /^CLOUD_ANSWER_TOO_LARGE/);
  while (!sent.isCut) await systemClock.sleep(5);
  // 32 MiB allows for the socket buffers of both ends.
  assert.ok(sent.bytes < answerLimitBytes + 32 * 2 ** 20, `${sent.bytes} bytes were sent`);
});

test('a server that sends a byte now and then is given up at the deadline', async () => {
  const clock = new FakeClock();
  const isAsked = Promise.withResolvers<void>();
  await using server = await cloudWith((_, answer) => {
    answer.writeHead(200, { ...proto, 'content-length': 100 });
    answer.write('x');
    isAsked.resolve();
  });
  const { cloud, isReached } = machine(`http://127.0.0.1:${server.port}`, clock);
  const asked = cloud.deviceAgentConfig({ id: 'p' }, 0, none).catch((e: unknown) => e);
  await isAsked.promise;
  await clock.advance(15_000);
  const problem = linkProblemIn(await asked);
  assert.match(problem?.message ?? '', /^CLOUD_SILENT: .*15 s/);
  assert.equal(isReached.get(), false);
});

test('the server that answers is heard for the time, others are not', async () => {
  const bytes = toBinary(DeviceAgentConfigResponseSchema, create(DeviceAgentConfigResponseSchema, { revision: 5n }));
  const date = 'Sun, 06 Nov 2039 08:49:37 GMT';
  await using server = await cloudWith((_, a) =>
    a.writeHead(200, { ...proto, date, 'content-length': bytes.length }).end(bytes),
  );
  const { cloud, heard } = machine(`http://127.0.0.1:${server.port}`);
  assert.equal((await cloud.deviceAgentConfig({ id: 'p' }, 0, none)).revision, 5n);
  assert.equal(heard.at(-1), Date.parse(date));
  await using hotel = await cloudWith((_, a) => a.writeHead(200, { 'content-type': 'text/html', date }).end(html));
  const other = machine(`http://127.0.0.1:${hotel.port}`);
  await assert.rejects(other.cloud.deviceAgentConfig({ id: 'p' }, 0, none));
  assert.equal(other.heard.includes(Date.parse(date)), false);
});

test('nothing listens, no such name, no HTTP, no TLS', async () => {
  const closed = await open(createTcp());
  await closed[Symbol.asyncDispose]();
  assert.match(await askedOf(`http://127.0.0.1:${closed.port}`), /^CLOUD_UNREACHABLE: .*nothing listens there/);
  assert.match(
    await askedOf('http://no-such-host.invalid'),
    /^CLOUD_NAME_UNKNOWN: The host name no-such-host\.invalid/,
  );
  await using other = await open(createTcp((socket) => socket.end('220 mail.example ESMTP\r\n')));
  assert.match(await askedOf(`http://127.0.0.1:${other.port}`), /^CLOUD_(NOT_RECOGNIZED|UNREACHABLE): /);
  await using plain = await cloudWith((_, a) => a.end());
  assert.match(await askedOf(`https://127.0.0.1:${plain.port}`), /^CLOUD_NOT_RECOGNIZED: .*does not speak TLS/);
});

const day = 86_400_000;
const now = systemClock.wall();
const certificates: readonly [string, number, number, number, RegExp][] = [
  ['of an unknown authority', now - day, now + day, now, /^CLOUD_CERTIFICATE_REFUSED: .*self.signed/],
  ['that ran out', now - 9 * day, now - day, now, /^CLOUD_CERTIFICATE_TIME: .*clock of this machine shows .* until/],
  ['that does not hold yet', now + day, now + 9 * day, now, /^CLOUD_CERTIFICATE_TIME: /],
  [
    'while this machine lives in 1970',
    now - day,
    now + day,
    0,
    /^CLOUD_CERTIFICATE_TIME: The clock of this machine shows 1970-01-01 00:00 UTC, but the certificate of https:\/\/HOST is not valid at that time: it is valid from 20/,
  ],
];
for (const [name, from, until, wall, words] of certificates) {
  test(`a certificate ${name}`, async () => {
    await using server = await open(createHttps(certificate(from, until), (_, a) => a.end()));
    const clock: Clock = { ...systemClock, now: () => systemClock.now(), wall: () => wall };
    assert.match(await askedOf(`https://localhost:${server.port}`, clock), words);
  });
}

test('the same holds in the runtime that releases are built with', async () => {
  const bun = path.resolve(
    import.meta.dirname,
    `../../../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
  );
  assert.ok(existsSync(bun), 'bun is installed with the workspaces');
  const day2 = certificate(0, day);
  await using endless = await cloudWith((request, answer) => {
    answer.writeHead(200, proto);
    const more = (): void => {
      while (!answer.destroyed && answer.write(Buffer.alloc(65_536)));
    };
    answer.on('drain', more);
    request.resume();
    more();
  });
  await using half = await cloudWith((_, a) => {
    a.writeHead(200, { ...proto, 'content-length': 100 });
    a.write('half', () => setImmediate(() => a.destroy()));
  });
  await using away = await cloudWith((_, a) => a.writeHead(302, { location: 'http://elsewhere.example/' }).end());
  await using hotel = await cloudWith((_, a) => a.writeHead(200, { 'content-type': 'text/html' }).end(html));
  await using old = await open(createHttps(day2, (_, a) => a.end()));
  const closed = await open(createTcp());
  await closed[Symbol.asyncDispose]();
  const urls = [
    ...[endless, half, away, hotel, closed].map((s) => `http://127.0.0.1:${s.port}`),
    `https://localhost:${old.port}`,
    'http://no-such-host.invalid',
  ];
  const child = spawn(bun, [path.join(import.meta.dirname, 'link-probe.ts'), ...urls], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
  assert.deepEqual(output.trim().split('\n'), [
    'CLOUD_ANSWER_TOO_LARGE',
    'CLOUD_ANSWER_CUT',
    'CLOUD_REDIRECTS',
    'CLOUD_NOT_RECOGNIZED',
    'CLOUD_UNREACHABLE',
    'CLOUD_CERTIFICATE_TIME',
    'CLOUD_NAME_UNKNOWN',
  ]);
});
