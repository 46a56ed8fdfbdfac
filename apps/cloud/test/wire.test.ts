import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { DataSyncService, FileUploadRequestSchema } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { LogRequestSchema, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { isLoopback, openPort, speaks } from '../src/wire/mux.ts';
import { testLog, testUnhandled } from './database.ts';
import { failure } from './failure.ts';
import { bearer, testServer, type TestServer } from './server.ts';

const certificate = path.join(import.meta.dirname, 'tls', 'cert.pem');
const tlsFlags = ['--tls-cert', certificate, '--tls-key', path.join(import.meta.dirname, 'tls', 'key.pem')];

const announced: [name: string, head: number[], speaks: string][] = [
  ['TLS', [0x16, 3, 1], 'tls'],
  ['TLS, one byte', [0x16], 'tls'],
  ['HTTP/2', [...Buffer.from('PRI * HTTP/2.0')], 'http2'],
  ['the start of HTTP/2', [...Buffer.from('PR')], 'unknown yet'],
  ['one letter of it', [...Buffer.from('P')], 'unknown yet'],
  ['PUT', [...Buffer.from('PUT')], 'http1'],
  ['PO', [...Buffer.from('PO')], 'http1'],
  ['GET', [...Buffer.from('GET / HTTP/1.1')], 'http1'],
];
for (const [name, head, expected] of announced)
  test(`first bytes: ${name}`, () => assert.equal(speaks(Uint8Array.from(head)), expected));

test('every protocol over every HTTP version, with and without TLS, on one port', async () => {
  const ca = await readFile(certificate);
  for (const flags of [[], tlsFlags]) {
    await using on = await testServer(flags);
    const nodeOptions = { ca };
    const { partId } = await withCa(on, ca);
    const token = await tokenOver(on, ca);
    const interceptors = [bearer(token)];
    for (const base of flags.length > 0 ? [on.url, on.url.replace('https', 'http')] : [on.url]) {
      const transports: [string, Transport][] = (['1.1', '2'] as const).flatMap((httpVersion) => [
        [`Connect ${httpVersion}`, createConnectTransport({ baseUrl: base, httpVersion, interceptors, nodeOptions })],
        [
          `Connect JSON ${httpVersion}`,
          createConnectTransport({ baseUrl: base, httpVersion, interceptors, nodeOptions, useBinaryFormat: false }),
        ],
        [`gRPC-Web ${httpVersion}`, createGrpcWebTransport({ baseUrl: base, httpVersion, interceptors, nodeOptions })],
      ]);
      transports.push(['gRPC', createGrpcTransport({ baseUrl: base, interceptors, nodeOptions })]);
      for (const [name, transport] of transports) {
        const app = createClient(AppService, transport);
        assert.equal((await app.listOrganizations({})).organizations.length, 1, `${name} ${base}`);
        for await (const page of app.tailRobotPartLogs({ id: partId })) {
          assert.equal(page.logs.length, 0, name);
          break;
        }
        assert.equal(await failure(app.getRobot({ id: 'x' })), 'NotFound MACHINE_NOT_FOUND', name);
        assert.equal(await failure(app.listAuthorizations({})), 'Unimplemented CALL_NOT_OFFERED', name);
      }
    }
  }
});

async function tokenOver(on: TestServer, ca: Buffer): Promise<string> {
  const { AuthService } = await import('@platform/contract/gen/proto/rpc/v1/auth_pb');
  const auth = createClient(
    AuthService,
    createConnectTransport({ baseUrl: on.url, httpVersion: '1.1', nodeOptions: { ca } }),
  );
  return (
    await auth.authenticate({
      entity: on.owner.entity,
      credentials: { type: on.owner.type, payload: on.owner.payload },
    })
  ).accessToken;
}
async function withCa(on: TestServer, ca: Buffer): Promise<{ partId: string }> {
  const { FleetService } = await import('@platform/contract/gen/platform/fleet/v1/fleet_pb');
  const transport = createConnectTransport({
    baseUrl: on.url,
    httpVersion: '1.1',
    nodeOptions: { ca },
    interceptors: [bearer(await tokenOver(on, ca))],
  });
  return {
    partId:
      (await createClient(FleetService, transport).createMachine({ organizationId: on.orgId, name: 'm' })).machine
        ?.partId ?? '',
  };
}

test('an error carries its row, its data and the remedy; an unknown method says so in one frame', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const error = ConnectError.from(await app.getRobot({ id: 'unknown' }).catch((found: unknown) => found));
  const [detail] = error.findDetails(ErrorInfoSchema);
  assert.deepEqual(
    [error.code, detail?.reason, detail?.domain, detail?.metadata['machineId']],
    [Code.NotFound, 'MACHINE_NOT_FOUND', 'platform', 'unknown'],
  );
  assert.match(detail?.metadata['remedy'] ?? '', /Check the machine ID/);

  const session = http2.connect(on.url);
  const refused = session.request(
    { ':method': 'POST', ':path': '/viam.app.v1.NoService/No', 'content-type': 'application/grpc', te: 'trailers' },
    { endStream: true },
  );
  const [headers, flags] = await new Promise<[http2.IncomingHttpHeaders, number]>((resolve) =>
    refused.once('response', (got, bits) => resolve([got, bits])),
  );
  assert.deepEqual(
    [headers[':status'], headers['grpc-status'], (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0],
    [200, '12', true],
  );
  session.close();
  const web = await fetch(`${on.url}/platform.app.v1.NoService/No`, {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+proto' },
  });
  assert.deepEqual([web.status, web.headers.get('grpc-status')], [200, '12']);
  for (const [method, version] of [
    ['platform.app.v1.NoService/No', { 'connect-protocol-version': '1' }],
    ['platform.app.v1.AppService/No', {}],
    ['viam.app.v1.AppService/No', {}],
  ] as const) {
    const sent = { 'content-type': 'application/json', ...version };
    const connect = await fetch(`${on.url}/${method}`, { method: 'POST', headers: sent, body: '{}' });
    const { code, message } = (await connect.json()) as { code: string; message: string };
    assert.deepEqual([connect.status, code], [501, 'unimplemented'], method);
    assert.match(message, /has no method .*AppService\/No|NoService\/No/);
  }
  const stream = await fetch(`${on.url}/platform.app.v1.AppService/No`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json' },
    body: Buffer.from('00000000027b7d', 'hex'),
  });
  const frame = Buffer.from(await stream.arrayBuffer());
  assert.deepEqual([stream.status, frame[0], frame.readUInt32BE(1)], [200, 2, frame.length - 5]);
  assert.match(frame.subarray(5).toString(), /^\{"error":\{"code":"unimplemented"/);
  const page = await fetch(`${on.url}/machines/none`, { method: 'POST', body: 'x' });
  assert.equal(page.status, 405, 'no name of a method');
});

test('other pages may call with a token: the preflight is answered, without a right to cookies', async () => {
  await using on = await testServer();
  const asked = 'authorization,content-type,viam_client,x-grpc-web,x-user-agent';
  const answer = await fetch(`${on.url}/viam.app.v1.AppService/ListOrganizations`, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': asked,
    },
  });
  assert.deepEqual(
    [
      answer.status,
      answer.headers.get('access-control-allow-origin'),
      answer.headers.get('access-control-allow-headers'),
      answer.headers.get('access-control-allow-credentials'),
    ],
    [204, 'http://page.example', asked, null],
  );
  assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/);
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /grpc-status-details-bin/);
});

test('messages: malformed is refused, 65 MiB too, and a sender that is still sending is freed', async () => {
  await using on = await testServer();
  const token = await on.token(on.owner);
  const send = (body: Uint8Array<ArrayBuffer>) =>
    fetch(`${on.url}/platform.app.v1.RobotService/Log`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/proto', authorization: `Bearer ${token}` },
    });
  const bad = await send(Uint8Array.from([0xff, 0xff, 0xff]));
  assert.match(((await bad.json()) as { message: string }).message, /parse binary/);
  const large = create(LogRequestSchema, { id: 'x'.repeat(65 * 1024 * 1024) });
  const refused = await send(new Uint8Array(toBinary(LogRequestSchema, large)));
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [429, 'resource_exhausted']);

  // Node's client counts unsent bytes against this limit.
  const nodeOptions = { maxSessionMemory: 1000 };
  const grpc = createGrpcTransport({ baseUrl: on.url, interceptors: [bearer(token)], nodeOptions });
  assert.match(await failure(createClient(RobotService, grpc).log(large)), /^ResourceExhausted/);
  const endless = async function* () {
    const piece = create(FileUploadRequestSchema, {
      uploadPacket: { case: 'fileContents', value: { data: new Uint8Array(1024 * 1024) } },
    });
    for (;;) yield piece;
  };
  // The first packet must describe the stream: the call fails while more packets are in flight.
  assert.match(await failure(createClient(DataSyncService, grpc).fileUpload(endless())), /^InvalidArgument/);
});

test('a port in use, a host that needs TLS: a clear word; silent and half-spoken connections end', async () => {
  const options = {
    host: '127.0.0.1',
    port: 0,
    allowPlaintext: false,
    clock: systemClock,
    log: testLog,
    unhandled: testUnhandled,
  };
  const answer = (_: unknown, response: { end(text: string): unknown }) => void response.end('hello');
  const port = await openPort(answer, { ...options, firstByteMs: 50 });
  await assert.rejects(
    openPort(answer, { ...options, port: port.port }),
    (error: PlatformError) => error.code === 'PORT_IN_USE' && /--port/.test(error.remedy),
  );
  await assert.rejects(openPort(answer, { ...options, host: '0.0.0.0' }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(openPort(answer, { ...options, host: '203.0.113.1', allowPlaintext: true }), {
    code: 'INVALID_ARGUMENT',
  });
  const heard = (...pieces: string[]): Promise<string> =>
    new Promise((resolve) => {
      const socket = net.connect(port.port, '127.0.0.1');
      const chunks: Buffer[] = [];
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.once('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
      socket.setNoDelay(true);
      const next = () => {
        const piece = pieces.shift();
        if (piece !== undefined) socket.write(piece, () => setImmediate(next));
      };
      next();
    });
  assert.equal(await heard(), '');
  assert.equal(await heard('PR'), '');
  assert.match(await heard('\u0016\u0003\u0001'), /^HTTP\/1\.1 400 /, 'TLS without a certificate');
  assert.match(
    await heard('P', 'O', 'ST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
    /^HTTP\/1\.1 200/,
  );
  assert.ok(isLoopback('::ffff:127.0.0.1') && isLoopback('::1') && !isLoopback('10.0.0.1') && !isLoopback(undefined));
  await port.close(1_000);
});

test('stopping ends held checks and tails, and lets a running call finish', async () => {
  const on = await testServer();
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const app = await on.client(AppService);
  const { fingerprint } = await agent.deviceAgentConfig({ id: partId });
  const held = agent.deviceAgentConfig({ id: partId, knownFingerprint: fingerprint, wait: { seconds: 20n } });
  const tail = app.tailRobotPartLogs({ id: partId })[Symbol.asyncIterator]();
  await tail.next();
  const closed = on[Symbol.asyncDispose]();
  assert.equal((await held).notModified, true);
  assert.equal((await tail.next()).done, true);
  await closed;
});
