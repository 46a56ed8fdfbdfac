// Message limits: before authentication the server reads no body; afterwards it limits unpacked bytes and values, in
// every protocol.
import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import test from 'node:test';
import { gzip } from 'node:zlib';
import { createClient, type Transport } from '@connectrpc/connect';
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { failure } from './failure.ts';
import { bearer, testServer, type TestServer } from './server.ts';

/** Each protocol, with and without compression, in protobuf and JSON. */
function transports(on: TestServer, token?: string): [name: string, transport: Transport][] {
  const interceptors = token === undefined ? [] : [bearer(token)];
  return [undefined, compressionGzip].flatMap((sendCompression) =>
    [true, false].flatMap((useBinaryFormat): [string, Transport][] => {
      const options = {
        baseUrl: on.url,
        interceptors,
        useBinaryFormat,
        ...(sendCompression && { sendCompression, compressMinBytes: 0 }),
      };
      const how = `${useBinaryFormat ? 'protobuf' : 'JSON'}${sendCompression ? ', gzip' : ''}`;
      return [
        [`Connect 1.1, ${how}`, createConnectTransport({ ...options, httpVersion: '1.1' })],
        [`Connect 2, ${how}`, createConnectTransport({ ...options, httpVersion: '2' })],
        [`gRPC-Web, ${how}`, createGrpcWebTransport({ ...options, httpVersion: '1.1' })],
        [`gRPC, ${how}`, createGrpcTransport(options)],
      ];
    }),
  );
}

const firstOf = async (answers: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of answers) return;
};

test('limits count unpacked bytes and values, in every protocol', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const many = Array.from({ length: 25_100 }, () => ({}));
  const rows: [name: string, run: (transport: Transport) => Promise<unknown>, expected: string][] = [
    ['a line', (to) => createClient(RobotService, to).log({ id: partId, logs: [{ message: 'x' }] }), 'no failure'],
    [
      'a long text',
      (to) => createClient(RobotService, to).config({ id: 'x'.repeat(2 ** 20) }),
      'ResourceExhausted MESSAGE_TOO_LARGE',
    ],
    [
      'many values',
      (to) => createClient(RobotService, to).log({ id: partId, logs: [...many, ...many] }),
      'ResourceExhausted MESSAGE_TOO_COMPLEX',
    ],
    [
      'a stream of answers',
      (to) => firstOf(createClient(DataService, to).exportTabularData({ partId: 'x'.repeat(4 * 2 ** 20) })),
      'ResourceExhausted MESSAGE_TOO_LARGE',
    ],
  ];
  for (const [name, transport] of transports(on, await on.token(part)))
    for (const [what, run, expected] of rows) assert.equal(await failure(run(transport)), expected, `${what}: ${name}`);
});

test('who authenticates sends no more than 16 KiB, never compressed', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  for (const [name, transport] of transports(on)) {
    const auth = createClient(AuthService, transport);
    const call = (payload: string) =>
      failure(auth.authenticate({ entity: partId, credentials: { type: part.type, payload } }));
    const isPacked = name.endsWith('gzip');
    assert.equal(await call(part.payload), isPacked ? 'InvalidArgument INVALID_ARGUMENT' : 'no failure', name);
    if (!isPacked) assert.equal(await call('x'.repeat(17_000)), 'ResourceExhausted MESSAGE_TOO_LARGE', name);
  }
});

test('a compressed message is not unpacked before its sender has proved who they are', async () => {
  await using on = await testServer();
  // 64 MiB of empty lines in 64 KiB.
  const bomb = await promisify(gzip)(Buffer.alloc(64 * 2 ** 20, Buffer.from([0x12, 0])));
  const send = (token?: string) =>
    fetch(`${on.url}/platform.app.v1.RobotService/Log`, {
      method: 'POST',
      body: bomb,
      headers: {
        'content-type': 'application/proto',
        'content-encoding': 'gzip',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
  assert.equal((await send()).status, 401);
  assert.equal((await send('x.y.z')).status, 401);
  const { part } = await on.machine('m');
  const answer = await send(await on.token(part));
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [429, 'resource_exhausted']);
});
