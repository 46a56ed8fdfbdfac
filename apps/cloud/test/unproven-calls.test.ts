// What an address may call without valid credentials, and that others do not notice.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import test from 'node:test';
import { sql } from 'kysely';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { randomSecret } from '../src/access/secrets.ts';
import { testServer, type TestServer } from './server.ts';

/** 24 at once. */
const flags = ['--unproven-calls-per-s', '2'];
const outsider = '127.0.0.5';

type Answer = { status: number; headers: http.IncomingHttpHeaders; text: string };

async function ask(
  on: TestServer,
  localAddress: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const method = body === undefined ? 'GET' : 'POST';
  const sent = http.request(on.server.localUrl + path, { method, localAddress, headers, agent: false });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() };
}

const json = { 'content-type': 'application/json' };
const whoAmI = '/platform.session.v1.SessionService/WhoAmI';
const signIn = '/proto.rpc.v1.AuthService/Authenticate';

/** Spends what the address may spend. @returns the refusal. */
async function exhaust(on: TestServer, address: string): Promise<Answer> {
  for (;;) {
    const answer = await ask(on, address, '/livez');
    if (answer.status !== 200) return answer;
  }
}

test('an address without credentials is refused after its burst, with the true wait; valid tokens and others are served', async () => {
  await using on = await testServer([...flags, '--metrics-port', '0']);
  const token = await on.token(on.owner);
  const { status, headers, text } = await exhaust(on, outsider);
  assert.equal(status, 429);
  assert.equal(headers['retry-after'], '1');
  assert.match(text, /UNPROVEN_CALLS_EXCEEDED/);
  const forged = { ...json, authorization: `Bearer ${token.slice(0, -6)}AAAAAA` };
  assert.equal((await ask(on, outsider, whoAmI, { headers: forged, body: '{}' })).status, 429);
  for (let n = 0; n < 60; n++) {
    const own = { ...json, authorization: `Bearer ${token}` };
    assert.equal((await ask(on, outsider, whoAmI, { headers: own, body: '{}' })).status, 200);
  }
  assert.equal((await ask(on, '127.0.0.6', '/livez')).status, 200);
  assert.equal((await ask(on, '127.0.0.1', '/livez')).status, 200);
  const metrics = await (await fetch(on.server.metricsUrl ?? '')).text();
  assert.match(metrics, /^platform_refused_calls_total 2\b/m);
});

test('a gRPC client gets the refusal as its status', async () => {
  await using on = await testServer(flags);
  await exhaust(on, outsider);
  const session = http2.connect(on.server.localUrl, { localAddress: outsider } as object);
  session.on('error', () => {});
  const stream = session.request({ ':method': 'POST', ':path': signIn, 'content-type': 'application/grpc' });
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
  assert.equal(headers['grpc-status'], '8');
  assert.match(decodeURIComponent(String(headers['grpc-message'])), /2 calls a second without valid credentials/);
  session.destroy();
});

test('the sign-ins of a fleet behind one address are not refused and not charged', async () => {
  await using on = await testServer(flags);
  const machines = await Promise.all([1, 2, 3].map((n) => on.machine(`m${n}`)));
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, n) => {
        const { entity = '', payload } = machines[n % machines.length]?.part ?? {};
        const body = JSON.stringify({ entity, credentials: { type: 'robot-secret', payload } });
        return ask(on, outsider, signIn, { headers: json, body });
      }),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  }
  assert.equal((await ask(on, outsider, '/livez')).status, 200);
});

test('wrong sign-ins are charged', async () => {
  await using on = await testServer(flags);
  const body = JSON.stringify({ entity: on.owner.entity, credentials: { type: 'api-key', payload: 'wrong' } });
  const answers = new Set<number>();
  while (!answers.has(429)) answers.add((await ask(on, outsider, signIn, { headers: json, body })).status);
  assert.deepEqual([...answers], [401, 429]);
});

const frame = (type: number, flag: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flag, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
};
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

/** HEADERS and RST_STREAM, as often as asked. */
function resets(count: number): Buffer {
  const headers = Buffer.concat([Buffer.from([0x83, 0x86]), literal(':path', '/livez'), literal(':authority', 'x')]);
  const frames = Array.from({ length: count }, (_, n) => [
    frame(1, 4, 1 + 2 * n, headers),
    frame(3, 0, 1 + 2 * n, Buffer.from([0, 0, 0, 8])),
  ]);
  return Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0), ...frames.flat()]);
}

test('streams that are reset count, and their connection is closed before all of it is read', async () => {
  await using on = await testServer(flags);
  const socket = net.connect({
    host: '127.0.0.1',
    port: Number(new URL(on.server.localUrl).port),
    localAddress: outsider,
  });
  socket.on('error', () => {});
  socket.resume();
  socket.write(resets(20_000));
  await new Promise((resolve) => socket.once('close', resolve));
  assert.equal((await ask(on, '127.0.0.6', '/livez')).status, 200);
  const refused = await ask(on, outsider, '/livez').catch(() => undefined);
  assert.ok(refused === undefined || refused.status === 429);
  assert.equal(on.server.unhandled.count, 0);
});

test('pipelined requests whose connection is closed before their turn end without a trace, and are charged', async () => {
  await using on = await testServer(flags);
  const port = Number(new URL(on.server.localUrl).port);
  const body = JSON.stringify({ entity: on.owner.entity, credentials: { type: 'api-key', payload: 'wrong' } });
  const one = `POST ${signIn} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  for (let n = 0; n < 5; n++) {
    const socket = net.connect({ host: '127.0.0.1', port, localAddress: outsider });
    socket.on('error', () => {});
    socket.write(one.repeat(20) + 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(200), () => socket.destroy());
    await new Promise((resolve) => socket.once('close', resolve));
  }
  assert.equal((await ask(on, '127.0.0.6', '/livez')).status, 200);
  assert.equal(on.server.unhandled.count, 0);
  // Those in progress have ended: after a while the address is served again.
  let status = 0;
  while (status !== 200) status = (await ask(on, outsider, '/livez').catch(() => ({ status: 0 }))).status;
});

test('while the look-ups of callers without credentials hang, calls with a token reach the database', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  await fleet.listMachines({ organizationId: on.orgId });
  const locking = await on.db.startTransaction().execute();
  await sql`lock table sign_in_link in access exclusive mode`.execute(locking);
  const hanging = Array.from({ length: 40 }, () => ask(on, outsider, `/sign-in?token=${randomSecret()}`));
  const waiting = async (): Promise<number> => {
    const { rows } = await sql<{
      n: number;
    }>`select count(*)::integer as n from pg_stat_activity where wait_event_type = 'Lock'`.execute(on.db);
    return rows[0]?.n ?? 0;
  };
  while ((await waiting()) < 1) await systemClock.sleep(10);
  const listed = await fleet.listMachines({ organizationId: on.orgId });
  assert.deepEqual(listed.machines, []);
  assert.equal(await waiting(), 1, 'one statement for all of them');
  await locking.rollback().execute();
  for (const { status } of await Promise.all(hanging)) assert.equal(status, 401);
});
