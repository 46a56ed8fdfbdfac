// Decompression bombs and floods against the running program on loopback. Prints counts, latencies and memory.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createClient } from '@connectrpc/connect';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { tempFolder } from '@platform/kit/testing';
import { type CloudProcess, cloudProcess } from './process.ts';
import { transportTo } from './server.ts';

const isShort = process.env['PLATFORM_ATTACK'] === 'short';
const rounds = isShort ? 1 : 10;
const atOnce = isShort ? 4 : 8;
const mib = 2 ** 20;

type Target = { cloud: CloudProcess; url: string; owner: string; machine: string };

async function targetIn(folder: string): Promise<Target> {
  const cloud = cloudProcess(folder);
  const ready = await cloud.ready;
  assert.ok(ready, cloud.stderr());
  const { url, api_key_id: entity, api_key: payload } = ready;
  const auth = createClient(AuthService, transportTo(url));
  const token = async (type: string, id: string, secret: string): Promise<string> =>
    (await auth.authenticate({ entity: id, credentials: { type, payload: secret } })).accessToken;
  const owner = await token('api-key', entity, payload);
  const fleet = createClient(FleetService, transportTo(url, owner));
  const { credentialsJson } = await fleet.createMachine({ organizationId: ready.org_id, name: 'hostile' });
  const { cloud: own } = JSON.parse(credentialsJson) as { cloud: { id: string; secret: string } };
  return { cloud, url, owner, machine: await token('robot-secret', own.id, own.secret) };
}

const residentMib = (pid: number): number =>
  Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);

/** Measures what an idle client observes during the attack. */
async function watched<T>(t: TestContext, name: string, { cloud, url }: Target, attack: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const waits: number[] = [];
  let most = 0;
  const watch = (async () => {
    while (!over.signal.aborted) {
      const start = performance.now();
      assert.equal((await fetch(`${url}/livez`)).status, 200);
      waits.push(performance.now() - start);
      most = Math.max(most, residentMib(cloud.pid));
      await sleep(20, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  const result = await attack().finally(() => over.abort());
  await watch;
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): string => `${(sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0)} ms`;
  t.diagnostic(`${name}: a quiet client waits ${at(0.5)}, p99 ${at(0.99)}; ${most} MiB resident at most`);
  return result;
}

type Bomb = { name: string; headers: Record<string, string>; body: Buffer };

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
function nested(depth: number): Buffer {
  let inner = Buffer.alloc(0);
  for (let n = 0; n < depth; n++) inner = Buffer.concat([Buffer.from([0x0a, ...varint(inner.length)]), inner]);
  return inner;
}

async function bombs(): Promise<Bomb[]> {
  const zip = promisify(gzip);
  const framed = (body: Buffer, flags: number): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = flags;
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
  };
  const lines = Buffer.alloc(64 * mib, Buffer.from([0x12, 0]));
  const packed = await zip(lines);
  const proto = { 'content-type': 'application/proto' };
  const json = { 'content-type': 'application/json' };
  return [
    { name: 'gzip: 64 MiB of empty lines', headers: { ...proto, 'content-encoding': 'gzip' }, body: packed },
    { name: 'gzip of gzip', headers: { ...proto, 'content-encoding': 'gzip' }, body: await zip(packed) },
    {
      name: 'gzip over gRPC-Web',
      headers: { 'content-type': 'application/grpc-web+proto', 'grpc-encoding': 'gzip' },
      body: framed(packed, 1),
    },
    { name: 'empty lines as they are', headers: proto, body: lines.subarray(0, 2 * mib) },
    { name: 'nested messages', headers: proto, body: nested(5_000) },
    { name: 'nested JSON', headers: json, body: Buffer.from('{"logs":'.padEnd(mib, '[')) },
    { name: 'JSON of small values', headers: json, body: Buffer.from(`{"logs":[${'{},'.repeat(500_000)}{}]}`) },
    { name: 'JSON with many keys', headers: json, body: Buffer.from(`{${'"a":1,'.repeat(200_000)}"a":1}`) },
    {
      name: 'gzip of JSON',
      headers: { ...json, 'content-encoding': 'gzip' },
      body: await zip(Buffer.alloc(16 * mib, '[')),
    },
  ];
}

/** The connection ended without an answer. */
const closed = 999;
const grpcStatuses = 1_000;
const internal = grpcStatuses + 13;

async function throwAt(url: string, { headers, body }: Bomb, authorization?: string): Promise<number> {
  const asked = http.request(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-length': body.length, ...(authorization !== undefined && { authorization }) },
  });
  asked.on('error', () => {});
  asked.end(body);
  const found = await once(asked, 'response').catch(() => undefined);
  if (!found) return closed;
  const [answer] = found as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  await new Promise((resolve) => answer.once('close', resolve).once('end', resolve));
  asked.destroy();
  // gRPC-Web carries the status in its body.
  const status = Number(/grpc-status: ?(\d+)/i.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? 0);
  return status === 0 ? (answer.statusCode ?? 0) : grpcStatuses + status;
}

test('bombs and floods: each is refused, and others are served', async (t) => {
  await using folder = await tempFolder();
  const target = await targetIn(folder.path);
  const { cloud, url } = target;
  try {
    const thrown = await bombs();
    await watched(t, 'no attack', target, () => sleep(1_000));
    const callers: [who: string, path: string, token: string | undefined][] = [
      ['unauthenticated', '/platform.app.v1.RobotService/Log', undefined],
      ['unauthenticated, as a sign-in', '/proto.rpc.v1.AuthService/Authenticate', undefined],
      ['a machine', '/platform.app.v1.RobotService/Log', `Bearer ${target.machine}`],
      [
        'a machine, uploading',
        '/platform.app.datasync.v1.DataSyncService/DataCaptureUpload',
        `Bearer ${target.machine}`,
      ],
    ];
    for (const [who, path, token] of callers) {
      const answers = new Map<number, number>();
      await watched(t, who, target, async () => {
        for (let round = 0; round < rounds; round++)
          for (const bomb of thrown) {
            const found = await Promise.all(Array.from({ length: atOnce }, () => throwAt(url + path, bomb, token)));
            for (const status of found) {
              assert.ok(status >= 400 && status !== 500 && status !== internal, `${bomb.name} by ${who}: ${status}`);
              answers.set(status, (answers.get(status) ?? 0) + 1);
            }
          }
      });
      t.diagnostic(`${who}: ${rounds * thrown.length * atOnce} bombs; answers ${JSON.stringify([...answers])}`);
    }
    await watched(t, 'one address with 600 connections', target, () => crowd(t, target));
    assert.equal(cloud.child.exitCode, null);
    assert.doesNotMatch(cloud.stderr(), /was not handled/);
  } finally {
    cloud.child.kill('SIGTERM');
    await cloud.exit;
  }
});

/** Silent, slow, half a handshake, half a preface: all from one IP address. */
async function crowd(t: TestContext, { url, machine }: Target): Promise<void> {
  const words = [
    '',
    'POST /proto.rpc.v1.AuthService/Authenticate HTTP/1.1\r\nhost: x\r\n',
    '\u0016\u0003\u0001',
    'PRI * HTTP/2.0\r\n',
  ];
  const sockets = Array.from({ length: 600 }, (_, n) => {
    const socket = net.connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: '127.0.0.7' });
    socket.on('error', () => {});
    socket.resume();
    socket.write(words[n % words.length] ?? '', 'latin1');
    return { socket, kind: n % words.length };
  });
  const open = () => sockets.filter(({ socket }) => !socket.closed);
  const start = performance.now();
  while (open().length > 256 && performance.now() - start < 20_000) {
    // An occasional byte does not keep a connection open.
    for (const { socket, kind } of open()) if (kind === 1) socket.write('x');
    await sleep(500);
  }
  const elapsed = ((performance.now() - start) / 1_000).toFixed(1);
  assert.ok(open().length <= 256, `${open().length} are open`);
  const answer = await fetch(`${url}/platform.session.v1.SessionService/WhoAmI`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${machine}` },
  });
  assert.equal(answer.status, 200);
  t.diagnostic(`600 connections of one address: ${open().length} after ${elapsed} s`);
  for (const { socket } of sockets) socket.destroy();
}
