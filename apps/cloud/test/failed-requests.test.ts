// A failure of one request ends that request, never the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import test from 'node:test';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { openPort } from '../src/wire/mux.ts';
import { unhandledFailures } from '../src/process/unhandled.ts';
import { testLog } from './database.ts';
import { heldCalls } from './held-calls.ts';
import { testServer } from './server.ts';

const path = `/${AppService.typeName}/${AppService.method.listOrganizations.name}`;

/** Reads until the other side closes. */
async function exchange(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.end(request);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

const malformed: [name: string, request: string, answer: RegExp][] = [
  ['an invalid path', 'GET // HTTP/1.1\r\nhost: x\r\n\r\n', /^HTTP\/1\.1 404 /],
  ['an invalid host', `POST ${path} HTTP/1.1\r\nhost: [\r\ncontent-length: 0\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ['no host', `POST ${path} HTTP/1.0\r\ncontent-length: 0\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ['no host, as health checks send it', 'GET /livez HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 200 /],
  ['an invalid port', 'GET / HTTP/1.1\r\nhost: x:y\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['everything', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n', /^HTTP\/1\.1 40/],
  ['a whole URL', 'GET http://x/livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', /^HTTP\/1\.1 200 /],
];

test('a malformed path or host is answered, and the server lives', async () => {
  await using on = await testServer();
  for (const [name, request, answer] of malformed) assert.match(await exchange(on.url, request), answer, name);
  assert.equal((await fetch(`${on.url}/livez`)).status, 200);
  assert.equal(on.server.unhandled.count, 0);
});

test('a caller that resets while the server finds out who it is costs nothing but its own call', async () => {
  using held = heldCalls();
  await using on = await testServer([], held.around);
  const { machineId, part } = await on.machine('m');
  const token = await on.token(part);
  // The deleted machine makes the server refuse the call.
  await (await on.client(FleetService)).deleteMachine({ id: machineId });
  const session = http2.connect(on.url);
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${token}`,
  });
  const call = held.hold(1);
  stream.end(Buffer.alloc(5));
  await call.reached;
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await once(stream, 'close');
  await call.release();
  session.close();
  assert.equal((await fetch(`${on.url}/livez`)).status, 200);
  assert.equal(on.server.unhandled.count, 0);
});

test('a listener that throws ends its own request', async () => {
  const unhandled = unhandledFailures(createLog({ name: 'test', clock: systemClock, level: 'error', sink: () => {} }));
  const port = await openPort(
    (request, response) => {
      if (request.url === '/throws') throw new Error('thrown');
      if (request.url === '/rejects') return Promise.reject(new Error('rejected'));
      return void response.end('fine');
    },
    { host: '127.0.0.1', port: 0, allowPlaintext: false, clock: systemClock, log: testLog, unhandled },
  );
  const url = `http://127.0.0.1:${port.port}`;
  for (const way of ['/throws', '/rejects']) await assert.rejects(fetch(url + way), way);
  assert.equal(await (await fetch(url)).text(), 'fine');
  assert.equal(unhandled.count, 2);
  await port.close(100);
});
