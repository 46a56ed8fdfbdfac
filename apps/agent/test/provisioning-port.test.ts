// The port of the provisioning RPC over real sockets, on the runtime of the built agent and on Node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http2 from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { ProvisioningService } from '@platform/contract/gen/platform/provisioning/v1/provisioning_pb';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { grpcLimits, GrpcServer, type Unary } from '../src/endpoints/grpc-server.ts';
import { flood, floods } from './http2-floods.ts';

const arch = process.arch === 'arm64' ? 'aarch64' : 'x64';
const bun = path.resolve(import.meta.dirname, `../../../node_modules/@oven/bun-linux-${arch}/bin/bun`);
const program = path.join(import.meta.dirname, 'provisioning-server.ts');
const networkList = '/viam.provisioning.v1.ProvisioningService/GetNetworkList';

interface Answer {
  httpStatus: number | undefined;
  grpcStatus: string | undefined;
  message: string;
}

/** Sends bytes as the body of a call on a connection of its own. */
async function post(
  port: number,
  callPath: string,
  body: Uint8Array,
  contentType = 'application/grpc',
): Promise<Answer> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const broken = once(session, 'error').then(([error]) => Promise.reject(error as Error));
  broken.catch(() => {});
  const stream = session.request({ ':method': 'POST', ':path': callPath, 'content-type': contentType, te: 'trailers' });
  stream.on('error', () => {}); // the server ends a request that it does not read to the end
  const answer: Answer = { httpStatus: undefined, grpcStatus: undefined, message: '' };
  const read = (headers: http2.IncomingHttpHeaders): void => {
    answer.httpStatus ??= Number(headers[':status']);
    answer.grpcStatus ??= headers['grpc-status']?.toString();
    answer.message ||= decodeURIComponent(headers['grpc-message']?.toString() ?? '');
  };
  stream.on('response', read);
  stream.on('trailers', read);
  stream.resume();
  stream.end(body);
  await Promise.race([once(stream, 'close'), broken]);
  session.destroy();
  return answer;
}

const message = (length: number, bytes = length): Buffer => {
  const framed = Buffer.alloc(5 + bytes);
  framed.writeUInt32BE(length, 1);
  return framed;
};

for (const [name, limitMiB, command, args] of [
  ['Bun', 120, bun, []],
  ['Node', 250, process.execPath, ['--disable-warning=ExperimentalWarning']],
] as const)
  describe(`the provisioning port on ${name}`, () => {
    const printed: Record<string, unknown>[] = [];
    let server: ProcessGroup;
    let port = 0;
    before(async () => {
      server = await spawnGroup({ command, args: [...args, program] });
      server.stderr?.pipe(process.stderr, { end: false });
      const lines = createInterface({ input: server.stdout! });
      lines.on('line', (line) => printed.push(JSON.parse(line) as Record<string, unknown>));
      await once(lines, 'line');
      port = printed[0]?.['port'] as number;
    });
    after(async () => {
      await server.stop({ termMs: 5_000 });
    });

    const isServing = async (): Promise<void> =>
      assert.deepEqual(await post(port, networkList, message(0)), { httpStatus: 200, grpcStatus: '0', message: '' });

    test('a client provisions the device', async () => {
      const sessionManager = new Http2SessionManager(`http://127.0.0.1:${port}`);
      const client = createClient(
        ProvisioningService,
        createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}`, sessionManager }),
      );
      const status = await client.getSmartMachineStatus({});
      assert.equal(status.provisioningInfo?.model, 'Rover 2');
      assert.deepEqual(status.errors, ['The password of barn is wrong.']);
      const { networks } = await client.getNetworkList({});
      assert.deepEqual(
        networks.map(({ ssid }) => ssid),
        ['barn', 'Café ☕', 'office'],
      );
      await client.setSmartMachineCredentials({ cloud: { id: 'part', secret: 'hush', appAddress: 'http://c:80' } });
      await client.setNetworkCredentials({ type: 'wifi', ssid: 'Café ☕', psk: 'correct horse' });
      await client.exitProvisioning({});
      const credentials = '{"cloud":{"app_address":"http://c:80","id":"part","secret":"hush"}}';
      while (!printed.some((line) => 'submission' in line)) await new Promise((resolve) => setImmediate(resolve));
      const submission = { wifi: { ssid: 'Café ☕', psk: 'correct horse', isHidden: false }, credentials };
      assert.deepEqual(
        printed.filter((line) => 'submission' in line),
        [{ submission }],
      );
      await client.setNetworkCredentials({ type: 'wifi', ssid: 'refused', psk: '' });
      await assert.rejects(client.exitProvisioning({}), { code: 9, rawMessage: /^WIFI_REFUSED: The device cannot/ });
      await assert.rejects(client.setNetworkCredentials({ type: 'wired' }), {
        code: 2,
        rawMessage: /^PROVISIONING_NETWORK_TYPE: .* "wired"\. Send the type "wifi"\.$/,
      });
      await assert.rejects(client.setSmartMachineCredentials({}), { code: 2 });
      sessionManager.abort();
    });

    const bad: [name: string, status: string | undefined, code: RegExp, body: Buffer, path?: string][] = [
      ['a message over the limit', '8', /^MESSAGE_TOO_LARGE/, message(grpcLimits.messageBytes + 1)],
      ['a megabyte', '8', /^MESSAGE_TOO_LARGE/, message(2 ** 20)],
      ['an announced length of 4 GiB', '8', /^MESSAGE_TOO_LARGE/, message(2 ** 32 - 1, 10)],
      ['no message', '3', /^INVALID_MESSAGE/, Buffer.alloc(0)],
      ['half a header', '3', /^INVALID_MESSAGE/, Buffer.alloc(3)],
      ['half a message', '3', /^INVALID_MESSAGE/, message(100, 50)],
      ['two messages', '3', /^INVALID_MESSAGE/, Buffer.concat([message(0), message(0)])],
      [
        'bytes of another format',
        '3',
        /^INVALID_MESSAGE/,
        Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from([0xff, 0xff])]),
      ],
      ['a compressed message', '12', /^UNSUPPORTED/, Buffer.from([1, 0, 0, 0, 0])],
      ['an unknown call', '12', /^UNSUPPORTED/, message(0), '/viam.provisioning.v1.ProvisioningService/Other'],
      ['an unknown service', '12', /^UNSUPPORTED/, message(0), '/grpc.health.v1.Health/Check'],
      ['a path of 4 KB', '12', /^UNSUPPORTED/, message(0), `/${'x'.repeat(4_000)}`],
    ];
    for (const [what, status, code, body, callPath] of bad)
      test(`refused: ${what}`, async () => {
        const answer = await post(port, callPath ?? networkList, body);
        assert.deepEqual([answer.httpStatus, answer.grpcStatus], [200, status], answer.message);
        assert.match(answer.message, code);
        await isServing();
      });

    test('a message of exactly the limit is read', async () => {
      const ssid = Buffer.alloc(grpcLimits.messageBytes - 4, 'x');
      const head = Buffer.from([
        0x12,
        0x80 | (ssid.length & 127),
        ((ssid.length >> 7) & 127) | 0x80,
        ssid.length >> 14,
      ]);
      const body = Buffer.concat([message(grpcLimits.messageBytes, 0), head, ssid]);
      const answer = await post(port, networkList.replace('GetNetworkList', 'SetNetworkCredentials'), body);
      assert.match(answer.message, /^PROVISIONING_NETWORK_TYPE/);
    });

    for (const contentType of ['application/grpc-web+proto', 'application/json', 'text/plain'])
      test(`content type ${contentType}: 415, for pages of other sites in a browser`, async () =>
        assert.equal((await post(port, networkList, message(0), contentType)).httpStatus, 415));

    for (const [what, bytes] of [
      ['HTTP/1.1', 'POST / HTTP/1.1\r\nhost: device\r\n\r\n'],
      ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
      ['noise', '\u00ff'.repeat(200)],
    ] as const)
      test(`${what} is cut off`, async () => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {}); // reset
        socket.resume();
        socket.write(bytes.padEnd(100, '\0'), 'latin1');
        await new Promise<void>((resolve) => socket.once('close', () => resolve()));
        await isServing();
      });

    for (const [what, make] of Object.entries(floods))
      test(`serves after a flood: ${what}`, async () => {
        await Promise.all(Array.from({ length: 3 }, () => flood(port, make, 10_000)));
        await isServing();
      });

    test('serves while silent connections hold on', async () => {
      const sockets: Socket[] = [];
      for (let n = 0; n < 5 * grpcLimits.connections; n++) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {}); // reset
        sockets.push(socket);
        await once(socket, 'connect');
      }
      await isServing();
      for (const socket of sockets) socket.destroy();
    });

    test('its memory is bounded after all of that', async () => {
      const text = await readFile(`/proc/${printed[0]?.['pid'] as number}/status`, 'utf8');
      const anonymous = Number(/RssAnon:\s+(\d+)/.exec(text)?.[1]) / 1024;
      assert.ok(anonymous < limitMiB, `${anonymous} MiB; each flood sends up to 200 MB`);
    });
  });

describe('the provisioning port over time', () => {
  /** A server in this process whose one call answers when the test says so. */
  async function serve() {
    const clock = new FakeClock();
    const stop = new AbortController();
    const due: (() => void)[] = [];
    const call: Unary = () => new Promise((resolve) => due.push(() => resolve(new Uint8Array(0))));
    const rpc = new GrpcServer(new Map([[networkList, call]]), clock);
    const server = createServer((socket) => rpc.take(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const running = rpc.run(stop.signal);
    const { port } = server.address() as AddressInfo;
    const until = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
    };
    const disposed = async () => {
      stop.abort();
      due.forEach((answer) => answer());
      await clock.advance(1_000);
      await running;
      server.close();
    };
    return { clock, stop, due, rpc, port, until, running, [Symbol.asyncDispose]: disposed };
  }

  test('a connection without a call ends after 20 s', async () => {
    await using device = await serve();
    const socket = connect(device.port, '127.0.0.1');
    socket.resume();
    const ended = once(socket, 'close');
    await device.until(() => device.rpc.connections === 1);
    await device.clock.advance(grpcLimits.firstCallMs - 2_000);
    assert.equal(device.rpc.connections, 1);
    await device.clock.advance(4_000);
    await ended;
  });

  test('a request that does not arrive ends after 10 s; one that the agent works on does not', async () => {
    await using device = await serve();
    const answer = post(device.port, networkList, message(0));
    await device.until(() => device.due.length === 1);
    const session = http2.connect(`http://127.0.0.1:${device.port}`);
    session.on('error', () => {}); // reset
    const stream = session.request({ ':method': 'POST', ':path': networkList, 'content-type': 'application/grpc' });
    stream.on('error', () => {}); // reset
    stream.write(message(100, 10));
    await device.until(() => device.rpc.connections === 2);
    await new Promise((resolve) => session.ping(resolve));
    await device.clock.advance(grpcLimits.requestMs + 4_000);
    await device.until(() => device.rpc.connections === 1);
    await device.clock.advance(45_000);
    device.due[0]?.();
    assert.equal((await answer).grpcStatus, '0');
  });

  test('a connection that was used stays five minutes', async () => {
    await using device = await serve();
    const session = http2.connect(`http://127.0.0.1:${device.port}`);
    const stream = session.request({ ':method': 'POST', ':path': networkList, 'content-type': 'application/grpc' });
    stream.resume();
    stream.end(message(0));
    await device.until(() => device.due.length === 1);
    device.due[0]?.();
    await once(stream, 'close');
    const ended = once(session, 'close');
    await device.clock.advance(grpcLimits.idleMs - 4_000);
    assert.equal(device.rpc.connections, 1);
    await device.clock.advance(8_000);
    await ended;
  });

  test('an answer that is due is sent before the port closes', async () => {
    await using device = await serve();
    const answer = post(device.port, networkList, message(0));
    await device.until(() => device.due.length === 1);
    device.stop.abort();
    await device.clock.settle();
    device.due[0]?.();
    assert.equal((await answer).grpcStatus, '0');
    await device.running;
    assert.equal(device.rpc.connections, 0);
  });
});
