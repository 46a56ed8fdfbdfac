// Machines and unauthenticated clients that exceed their share do not affect the others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import test from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import {
  AgentDeviceService,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { FakeClock } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import { slotsPerMachine } from '../src/device-api/concurrency-limiter.ts';
import { openPort } from '../src/wire/mux.ts';
import { testLog, testUnhandled } from './database.ts';
import { failure } from './failure.ts';
import { checkBytes, dial } from './plain-wire.ts';
import { bearer, testServer } from './server.ts';

const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
const wait = durationFromMs(50_000);
const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await systemClock.sleep(10);
};

test('of the checks that a machine holds the newest stay, and hear of a change; who is sent away may come again', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const token = await on.token(part);
  const fleet = await on.client(FleetService);
  const first = await dial(on.url);
  await first.say(checkBytes(on, token, { id: partId, hostInfo }));
  const { fingerprint } = fromBinary(DeviceAgentConfigResponseSchema, (await first.answer()).body);
  const asked = { id: partId, hostInfo, knownFingerprint: fingerprint, wait };
  const wires = await Promise.all(Array.from({ length: slotsPerMachine + 2 }, () => dial(on.url)));
  const statuses: number[] = [];
  const answers = wires.map(async (wire) => {
    await wire.say(checkBytes(on, token, asked));
    const { status, headers } = await wire.answer();
    statuses.push(status);
    if (status === 429) {
      assert.match(headers.get('retry-after') ?? '', /^\d+$/);
      await wire.ended();
    }
    return wire;
  });
  await until(() => statuses.length === 2);
  assert.deepEqual(statuses, [429, 429]);
  await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
  await Promise.all(answers);
  assert.deepEqual(statuses.toSorted(), [...Array.from({ length: slotsPerMachine }, () => 200), 429, 429]);
  // All slots are free again.
  for (const wire of [first, ...wires]) wire.close();
  const next = await dial(on.url);
  await next.say(checkBytes(on, token, { ...asked, knownFingerprint: '' }));
  assert.equal((await next.answer()).status, 200);
  next.close();
});

for (const service of ['agent', 'machine server'] as const)
  test(`the same for calls with the key of a user: ${service}`, async () => {
    await using on = await testServer();
    const { partId } = await on.machine('m');
    const [fleet, agent, robot] = [
      await on.client(FleetService),
      await on.client(AgentDeviceService),
      await on.client(RobotService),
    ];
    const { fingerprint } = await agent.deviceAgentConfig({ id: partId, hostInfo });
    const { config } = await robot.config({ id: partId });
    const held = (): Promise<string> =>
      failure(
        service === 'agent'
          ? agent.deviceAgentConfig({ id: partId, hostInfo, knownFingerprint: fingerprint, wait })
          : robot.config({ id: partId, knownRevision: config?.revision ?? '', wait }),
      );
    const outcomes: string[] = [];
    const calls = Array.from({ length: slotsPerMachine + 1 }, async () => outcomes.push(await held()));
    await until(() => outcomes.length === 1);
    assert.deepEqual(outcomes, ['ResourceExhausted TOO_MANY_REQUESTS']);
    await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
    await Promise.all(calls);
    assert.deepEqual(
      outcomes.slice(1),
      Array.from({ length: slotsPerMachine }, () => 'no failure'),
    );
  });

test('a large message is not read before its sender has proved who they are, in every protocol', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const logs = Array.from({ length: 100 }, () => ({ message: 'x'.repeat(30_000) }));
  const transports = (token: string | undefined): [string, Transport][] => {
    const options = { baseUrl: on.url, interceptors: token === undefined ? [] : [bearer(token)] };
    return [
      ['Connect 1.1', createConnectTransport({ ...options, httpVersion: '1.1' })],
      ['Connect 2', createConnectTransport({ ...options, httpVersion: '2' })],
      ['gRPC-Web', createGrpcWebTransport({ ...options, httpVersion: '1.1' })],
      ['gRPC', createGrpcTransport(options)],
    ];
  };
  const outcome = (transport: Transport): Promise<string> =>
    failure(createClient(RobotService, transport).log({ id: partId, logs }));
  for (const [token, expected] of [
    [undefined, 'Unauthenticated NOT_AUTHENTICATED'],
    ['no token', 'Unauthenticated NOT_AUTHENTICATED'],
    [await on.token(on.owner), 'no failure'],
  ] as const)
    for (const [name, transport] of transports(token)) assert.equal(await outcome(transport), expected, name);

  // The answer arrives although the message body never does.
  for (const size of ['content-length: 60000000', 'transfer-encoding: chunked']) {
    const wire = await dial(on.url);
    const path = `/${RobotService.typeName}/${RobotService.method.log.name}`;
    await wire.say(
      Buffer.from(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n${size}\r\n\r\n`),
    );
    assert.equal((await wire.answer()).status, 401, size);
    wire.close();
  }
});

test('messages of unauthenticated callers and agents have a lower limit than those of others', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const limitOf = async (call: Promise<unknown>): Promise<string | undefined> => {
    const error = ConnectError.from(await call.catch((found: unknown) => found));
    const [detail] = error.findDetails(ErrorInfoSchema);
    return `${detail?.reason} ${detail?.metadata['limitBytes']}`;
  };
  const auth = createClient(AuthService, createConnectTransport({ baseUrl: on.url, httpVersion: '1.1' }));
  const payload = 'x'.repeat(100_000);
  assert.equal(
    await limitOf(auth.authenticate({ entity: partId, credentials: { type: 'robot-secret', payload } })),
    'MESSAGE_TOO_LARGE 16384',
  );
  const agent = await on.client(AgentDeviceService, part);
  const tags = Array.from({ length: 20 }, () => payload);
  // The second round proves that the rest of the first does not block it.
  for (let n = 0; n < 2; n++)
    assert.equal(
      await limitOf(agent.deviceAgentConfig({ id: partId, hostInfo: { ...hostInfo, tags } })),
      'MESSAGE_TOO_LARGE 1048576',
    );
  assert.notEqual((await agent.deviceAgentConfig({ id: partId, hostInfo })).fingerprint, '');
});

test('a message that was announced and stands still ends its connection; a held answer does not', async () => {
  const clock = new FakeClock();
  const bodies: string[] = [];
  const port = await openPort(
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => {});
      request.on('end', () => bodies.push(Buffer.concat(chunks).toString()));
      response.on('error', () => {});
    },
    { host: '127.0.0.1', port: 0, allowPlaintext: false, clock, log: testLog, unhandled: testUnhandled },
  );
  const connect = (): net.Socket => net.connect(port.port, '127.0.0.1').on('error', () => {});
  const [stuck, held, slow] = [connect(), connect(), connect()];
  const closed = new Map([stuck, held, slow].map((socket) => [socket, false]));
  for (const socket of closed.keys()) socket.once('close', () => closed.set(socket, true));
  stuck.write('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
  held.write('POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nheld');
  slow.write('POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  const session = http2.connect(`http://127.0.0.1:${port.port}`);
  const stream = session.request({ ':method': 'POST', ':path': '/d' });
  stream.on('error', () => {});
  stream.write('ab');
  await until(() => bodies.includes('held'));
  for (let n = 0; n < 10; n++) {
    slow.write('1\r\ns\r\n');
    const seen = systemClock.now();
    // Its byte arrives before the next 30 seconds begin.
    await until(() => systemClock.now() - seen > 30);
    await clock.advance(30_000);
  }
  if (!stream.closed) await once(stream, 'close');
  await until(() => closed.get(stuck) === true);
  assert.deepEqual([closed.get(held), closed.get(slow)], [false, false]);
  slow.write('0\r\n\r\n');
  await until(() => bodies.includes('s'.repeat(10)));
  // The session itself closes after half an hour without use.
  const gone = once(session, 'close');
  await clock.advance(31 * 60_000);
  await gone;
  for (const socket of [held, slow]) socket.destroy();
  const end = port.close(0);
  await clock.advance(1_000);
  await end;
});
