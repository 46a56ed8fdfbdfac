// One IP address, and all unauthenticated clients together, get a share of the connections.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import tls from 'node:tls';
import { testServer, type TestServer } from './server.ts';

const folder = path.join(import.meta.dirname, 'tls');
const flags = [
  '--tls-cert',
  path.join(folder, 'cert.pem'),
  '--tls-key',
  path.join(folder, 'key.pem'),
  '--connections-per-address',
  '4',
];

type Kept = { name: string; socket: net.Socket; isClosed: boolean };

function kept(name: string, socket: net.Socket): Kept {
  const one: Kept = { name, socket, isClosed: false };
  socket.on('error', () => {});
  socket.once('close', () => (one.isClosed = true));
  return one;
}
const dial = ({ url }: TestServer, localAddress: string): net.Socket =>
  net.connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress });

/** Authenticates and keeps the connection. */
async function proved(on: TestServer, localAddress: string, token: string): Promise<Kept> {
  const agent = new http.Agent({ keepAlive: true });
  const asked = http.request(`${on.url.replace('https:', 'http:')}/platform.session.v1.SessionService/WhoAmI`, {
    method: 'POST',
    agent,
    localAddress,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
  const socket = once(asked, 'socket').then(([found]) => found as net.Socket);
  asked.end('{}');
  const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
  assert.equal(answer.statusCode, 200);
  answer.resume();
  await once(answer, 'end');
  return kept('proved', await socket);
}

test('an address keeps a limited number of unauthenticated connections, whatever they send; authenticated ones and other addresses stay', async () => {
  await using on = await testServer(flags);
  const token = await on.token(on.owner);
  const proven = await Promise.all([1, 2, 3, 4, 5].map(() => proved(on, '127.0.0.5', token)));
  const silent = Array.from({ length: 6 }, () => kept('silent', dial(on, '127.0.0.5')));
  const slow = Array.from({ length: 3 }, () => kept('slow', dial(on, '127.0.0.5')));
  for (const { socket } of slow) socket.write('POST /proto.rpc.v1.AuthService/Authenticate HTTP/1.1\r\nhost: x\r\n');
  const shaking = Array.from({ length: 3 }, () => kept('handshake', dial(on, '127.0.0.5')));
  for (const { socket } of shaking) socket.write(Buffer.from([0x16, 3, 1]));
  const session = http2.connect(on.url.replace('https:', 'http:'), { localAddress: '127.0.0.5' } as object);
  session.on('error', () => {});
  const secured = kept('secured', tls.connect({ socket: dial(on, '127.0.0.5'), rejectUnauthorized: false }));
  const others = Array.from({ length: 4 }, () => kept('elsewhere', dial(on, '127.0.0.6')));
  const all = [...silent, ...slow, ...shaking, secured];
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (all.filter((one) => one.isClosed).length + Number(session.closed) === 10) resolve();
    };
    for (const { socket } of all) socket.on('close', look);
    session.once('close', look);
  });
  assert.deepEqual(
    [...proven, ...others].filter((one) => one.isClosed),
    [],
  );
  for (const { socket } of [...all, ...proven, ...others]) socket.destroy();
  session.destroy();
});

test('behind a trusted proxy each client has its own share', async () => {
  await using on = await testServer(['--connections-per-address', '2', '--trusted-proxy', '127.0.0.9']);
  const open = (client: string): Kept => {
    const one = kept(client, dial(on, '127.0.0.9'));
    one.socket.write(
      `POST /proto.rpc.v1.AuthService/Authenticate HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${client}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
    return one;
  };
  const greedy = Array.from({ length: 5 }, () => open('203.0.113.1'));
  const modest = [open('203.0.113.2'), open('203.0.113.3')];
  await new Promise<void>((resolve) => {
    for (const { socket } of greedy)
      socket.on('close', () => greedy.filter((one) => one.isClosed).length === 3 && resolve());
  });
  assert.deepEqual(
    modest.filter((one) => one.isClosed),
    [],
  );
  for (const { socket } of [...greedy, ...modest]) socket.destroy();
});
