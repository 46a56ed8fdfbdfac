// What requests without valid credentials cost the server, and what another user notices: each kind of request comes
// from an address of its own, as fast as the server takes it. CPU is that of the server's process. What a request costs
// is measured without the limit of unproven calls; what another user waits, with it. This wait is given as a ratio to
// quiet times in between, because absolute times depend on the load of the host.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { type CloudReady, readyOf } from '../src/cloud-process.ts';

const costMs = 3_000;
/** An attack and a quiet time, in turns. */
const rounds = 5;
const roundMs = 2_000;
const probeMs = 20;
/** Connections of the attacker. */
const connections = 8;
/** Pages in one write, or streams of one connection. A connection carries one call, because a sign-in closes it. */
const atOnce = 500;
const main = path.resolve(import.meta.dirname, '../../apps/cloud/src/main.ts');

/** User and system time of all threads of a process, ms. */
const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

const get = (where: string): string => `GET ${where} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (where: string, body: string, more = ''): string =>
  `POST ${where} HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;

const frame = (type: number, flags: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
};
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

/** Streams that are opened and reset: HEADERS and RST_STREAM. */
function resets(): Buffer {
  const headers = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal(':path', '/viam.app.v1.AppService/ListOrganizations'),
    literal(':authority', 'x'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ]);
  const frames = Array.from({ length: atOnce }, (_, n) => [
    frame(1, 4, 1 + 2 * n, headers),
    frame(3, 0, 1 + 2 * n, Buffer.from([0, 0, 0, 8])),
  ]);
  return Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0), ...frames.flat()]);
}

const forged = `authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${'x'.repeat(43)}\r\n`;
const wrongKey = JSON.stringify({
  entity: '00000000-0000-4000-8000-000000000000',
  credentials: { type: 'api-key', payload: 'x' },
});

/** `bytes`: one write, with `atOnce` requests. */
const kinds: readonly { name: string; bytes: Buffer }[] = [
  { name: 'GET /livez', bytes: Buffer.from(get('/livez').repeat(atOnce)) },
  { name: 'GET /readyz', bytes: Buffer.from(get('/readyz').repeat(atOnce)) },
  { name: 'GET /install.sh', bytes: Buffer.from(get('/install.sh').repeat(atOnce)) },
  { name: 'GET /sign-in', bytes: Buffer.from(get('/sign-in?token=abc').repeat(atOnce)) },
  {
    name: 'a call with a forged token',
    bytes: Buffer.from(post('/viam.app.v1.AppService/ListOrganizations', '{}', forged)),
  },
  {
    name: 'Authenticate with a wrong key',
    bytes: Buffer.from(post('/proto.rpc.v1.AuthService/Authenticate', wrongKey)),
  },
  { name: 'streams that are reset', bytes: resets() },
];

type Server = { child: ChildProcess; ready: CloudReady };

async function startServer(folder: string, ...flags: string[]): Promise<Server> {
  const args = [main, '--data-dir', folder, '--port', '0', '--log-level', 'error', ...flags];
  const child = spawn(process.execPath, args, { env: plainEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ready: readyOf(line) };
}

/** Sends it once, until all is answered or the connection is closed. @returns the requests that were handled. */
async function sendOnce(port: number, localAddress: string, bytes: Buffer, stop: AbortSignal): Promise<number> {
  const socket = net.connect({ host: '127.0.0.1', port, localAddress });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const end = (): void => void socket.destroy();
  stop.addEventListener('abort', end, { once: true });
  const isCall = bytes.subarray(0, 4).equals(Buffer.from('POST'));
  let answers = 0;
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
    if (answers >= (isCall ? 1 : atOnce)) end();
  });
  // HTTP/2 streams that are reset have no answer.
  const isAnswered = !bytes.subarray(0, 3).equals(Buffer.from('PRI'));
  socket.write(bytes, () => {
    if (!isAnswered) socket.end();
  });
  await closed;
  stop.removeEventListener('abort', end);
  return isAnswered ? answers : atOnce;
}

/** Sends it again and again over some connections. @returns the requests that were handled. */
async function attack(port: number, localAddress: string, bytes: Buffer, stop: AbortSignal): Promise<number> {
  let requests = 0;
  const one = async (): Promise<void> => {
    while (!stop.aborted) requests += await sendOnce(port, localAddress, bytes, stop);
  };
  await Promise.all(Array.from({ length: connections }, one));
  return requests;
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;

/** The waits of a signed-in user, ms, sorted. */
async function probed(ready: CloudReady, token: string, stop: AbortSignal): Promise<number[]> {
  const agent = new http.Agent({ keepAlive: true });
  const waits: number[] = [];
  while (!stop.aborted) {
    const began = performance.now();
    const asked = http.request(`${ready.url}/platform.session.v1.SessionService/WhoAmI`, {
      method: 'POST',
      agent,
      localAddress: '127.0.0.3',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    });
    asked.end('{}');
    const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    if (answer.statusCode !== 200) throw new Error(`the user got ${answer.statusCode}`);
    waits.push(performance.now() - began);
    await systemClock.sleep(probeMs, stop);
  }
  agent.destroy();
  return waits.toSorted((a, b) => a - b);
}

const during = (ms: number): AbortSignal => AbortSignal.timeout(ms);

const tokenOf = async (ready: CloudReady): Promise<string> => {
  const signedIn = await fetch(`${ready.url}/proto.rpc.v1.AuthService/Authenticate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ entity: ready.api_key_id, credentials: { type: 'api-key', payload: ready.api_key } }),
  });
  return ((await signedIn.json()) as { accessToken: string }).accessToken;
};

/** @returns µs of CPU for each request, by kind. */
async function costs({ child, ready }: Server): Promise<number[]> {
  const found: number[] = [];
  for (const [index, { bytes }] of kinds.entries()) {
    const address = `127.0.1.${index + 1}`;
    await attack(ready.port, address, bytes, during(costMs / 3));
    const before = cpuMs(child.pid ?? 0);
    const requests = await attack(ready.port, address, bytes, during(costMs));
    found.push(((cpuMs(child.pid ?? 0) - before) * 1_000) / requests);
  }
  return found;
}

async function printWaits({ child, ready }: Server, cost: readonly number[]): Promise<void> {
  const token = await tokenOf(ready);
  await probed(ready, token, during(roundMs));
  for (const [index, { name, bytes }] of kinds.entries()) {
    const [quiet, attacked]: [number[], number[]] = [[], []];
    let used = 0;
    for (let round = 0; round < rounds; round++) {
      quiet.push(...(await probed(ready, token, during(roundMs))));
      const before = cpuMs(child.pid ?? 0);
      const stop = during(roundMs);
      const address = `127.0.1.${index + 1}`;
      const [waited] = await Promise.all([probed(ready, token, stop), attack(ready.port, address, bytes, stop)]);
      attacked.push(...waited);
      used += cpuMs(child.pid ?? 0) - before;
    }
    const [before, after] = [quiet, attacked].map((all) =>
      at(
        all.toSorted((a, b) => a - b),
        0.99,
      ),
    );
    const columns = [
      name.padEnd(30),
      `${(cost[index] ?? 0).toFixed(0).padStart(5)} µs each`,
      `${((used / rounds / roundMs) * 100).toFixed(0).padStart(3)} % of a core`,
      `another user: p99 ${(after ?? 0).toFixed(1)} ms, ${((after ?? 0) / (before ?? 1)).toFixed(1)} × the quiet ${(before ?? 0).toFixed(1)} ms`,
    ];
    process.stdout.write(`${columns.join('; ')}\n`);
  }
}

/** @param flags - of the server. */
async function withServer<T>(flags: readonly string[], use: (server: Server) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'platform-bench-'));
  const server = await startServer(folder, ...flags);
  try {
    return await use(server);
  } finally {
    server.child.kill('SIGTERM');
    await once(server.child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

const cost = await withServer(['--unproven-calls-per-s', '0'], costs);
await withServer([], (server) => printWaits(server, cost));
