// A machine whose clock is wrong calls servers by TLS: real sockets, both runtimes. The clock of the system is the right one
// here; the certificates are of another time, which is the same for whoever compares them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect, type AddressInfo, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { issue, tempFolder, type Issue } from '../../src/testing/index.ts';
import type { ProbeOrder, ProbeOutcome } from './tolerant-probe.ts';

const bun = path.resolve(
  import.meta.dirname,
  `../../../../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
);
const day = 86_400_000;
const now = Math.floor(Date.now() / 1000) * 1000;
const at = (days: number): number => now + days * day;
const authority = issue({ name: 'Root', from: at(-9000), to: at(30_000), authority: true });
const folder = await tempFolder();
const caFile = path.join(folder.path, 'ca.pem');
writeFileSync(caFile, authority.cert);
const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
const large = randomBytes(3_000_000);

interface Open extends AsyncDisposable {
  port: number;
}
async function open(server: Server): Promise<Open> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
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

/** A server with this certificate. It records its requests. */
async function site(of: Partial<Issue> & { from: number; to: number }, date: () => number = () => now) {
  const requests: string[] = [];
  const answer: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers['accept-encoding']}`);
    response.setHeader('date', new Date(date()).toUTCString());
    if (request.url === '/moved') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    else if (request.url === '/large') response.end(large);
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => setImmediate(() => response.destroy()));
    } else if (request.url === '/never') response.writeHead(200).write('a part');
    else request.pipe(response);
  };
  const { cert, key } = issue({ name: 'site', by: authority, ...names, ...of });
  const server = await open(createHttps({ cert, key }, answer));
  return { ...server, url: `https://127.0.0.1:${server.port}`, requests };
}

async function probe(program: string, order: ProbeOrder, env: Record<string, string> = {}): Promise<ProbeOutcome[]> {
  const file = path.join(import.meta.dirname, 'tolerant-probe.ts');
  const args = [...(program === bun ? [] : ['--disable-warning=ExperimentalWarning']), file, JSON.stringify(order)];
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: caFile, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  assert.deepEqual(await once(child, 'close'), [0, null]);
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ProbeOutcome);
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const hello = { status: 200, bytes: 5, sha256: sha256('hello') };

for (const [name, program] of [
  ['node', process.execPath],
  ['bun', bun],
] as const) {
  test(`${name}: an authority that only one server has is trusted for that server, with any clock`, async () => {
    const own = issue({ name: 'Own root', from: at(-9000), to: at(30_000), authority: true });
    const from = at(-10);
    await using server = await site({ from, to: at(10), by: own }, () => now);
    await using late = await site({ from: at(1000), to: at(1090), by: own }, () => at(1010));
    await using known = await site({ from, to: at(10) }, () => now);
    const call = (url: string) => ({ url, body: 'hello' });
    const outcomeFor = async (url: string, origin: string, pem = own.cert): Promise<string | number | undefined> => {
      const calls = [call(url), call(url)];
      const [first, second] = await probe(program, { floor: at(-20), trusted: { origin, pem }, calls });
      assert.equal(second?.status ?? second?.error, first?.status ?? first?.error);
      return first?.status ?? first?.error;
    };
    assert.equal(await outcomeFor(server.url, server.url), 200);
    assert.equal(await outcomeFor(late.url, late.url), 200, 'and the clock is wrong');
    assert.equal(await outcomeFor(known.url, known.url), 200, 'the server has moved to a public authority');
    const otherRoot = issue({ name: 'Own root', from: at(-9000), to: at(30_000), authority: true });
    assert.match(String(await outcomeFor(server.url, server.url, otherRoot.cert)), /UNABLE_TO_|CERT_|SELF_SIGNED/);
    // Node has no trust for single servers.
    if (program === bun) assert.match(String(await outcomeFor(server.url, known.url)), /UNABLE_TO_|SELF_SIGNED/);
    assert.equal(late.requests.length, 2);
  });

  test(`${name}: a clock that is behind or ahead, and a server that is right`, async () => {
    // Its certificate was issued long after the clock of this machine, or had ended long before.
    for (const [from, to] of [
      [at(1000), at(1090)],
      [at(-1000), at(-910)],
    ] as const) {
      await using server = await site({ from, to }, () => from + 10 * day);
      const call = { url: `${server.url}/a?b=c`, body: 'hello' };
      const got = await probe(program, { floor: at(-2000), calls: [call, call, { url: `${server.url}/large` }] });
      const proven = from + 10 * day;
      assert.deepEqual(got, [
        { ...hello, proven },
        { ...hello, proven },
        { status: 200, bytes: large.length, sha256: sha256(large), proven },
      ]);
      assert.deepEqual(server.requests, ['POST /a?b=c identity', 'POST /a?b=c identity', 'GET /large identity']);
    }
  });

  test(`${name}: nothing reaches a server that does not prove who it is`, async () => {
    const dates = { from: at(-100), to: at(-10) };
    const rows: readonly [string, Issue, Partial<ProbeOrder>][] = [
      ['ended before the floor', { ...dates, by: authority, ...names }, { floor: at(-5) }],
      ['another authority', { ...dates, by: issue({ ...dates, name: 'Root', authority: true }), ...names }, {}],
      ['another name', { ...dates, by: authority, dns: ['else.test'] }, {}],
      ['signed itself', { ...dates, ...names }, {}],
      ['the clock is synchronized', { ...dates, by: authority, ...names }, { isSynchronized: true }],
      ['the dates hold, the authority does not', { from: at(-1), to: at(1), ...names }, {}],
      // 1970 by its own clock: the runtime's check is not even tried.
      [
        'ended before the floor, and the clock lies before it',
        { ...dates, by: authority, ...names },
        { floor: at(1), ahead: at(-100) - now },
      ],
    ];
    for (const [row, of, order] of rows) {
      const requests: string[] = [];
      const { cert, key } = issue(of);
      await using server = await open(createHttps({ cert, key }, (r, a) => (requests.push(r.url ?? ''), a.end())));
      const url = `https://127.0.0.1:${server.port}/`;
      const [got] = await probe(program, { floor: at(-2000), ...order, calls: [{ url, body: 'secret' }] });
      assert.match(got?.error ?? '', /^(CERT_|DEPTH_ZERO|UNABLE_TO_|SELF_SIGNED|ERR_TLS_CERT)/, row);
      assert.equal(got?.proven, undefined, row);
      assert.deepEqual(requests, [], row);
    }
  });

  test(`${name}: what a server says of the time counts as far as its certificate holds`, async () => {
    const [from, to] = [at(1000), at(1090)];
    const rows: readonly [string, number, number][] = [
      ['within', at(1050), at(1050)],
      ['far in the future', at(20_000), from],
      ['before its own certificate', at(0), from],
    ];
    for (const [row, date, proven] of rows) {
      await using server = await site({ from, to }, () => date);
      const [got] = await probe(program, { floor: at(-2000), calls: [{ url: server.url, body: 'hello' }] });
      assert.equal(got?.proven, proven, row);
    }
    // Where the runtime verified it: the earlier of both clocks.
    await using future = await site({ from: at(-10), to: at(10) }, () => at(20_000));
    await using past = await site({ from: at(-10), to: at(10) }, () => at(-3));
    const calls = [future, past].map(({ url }) => ({ url, body: 'hello' }));
    const [a, b] = await probe(program, { floor: at(-2000), calls });
    assert.ok(a?.proven !== undefined && a.proven >= now && a.proven < at(1), String(a?.proven));
    assert.equal(b?.proven, at(-3));
    // Anybody answers by plain HTTP.
    await using plain = await open(createHttp((_, answer) => answer.end('hello')));
    const calledPlain = await probe(program, { floor: at(-2000), calls: [{ url: `http://127.0.0.1:${plain.port}/` }] });
    assert.deepEqual(calledPlain, [hello]);
  });

  test(`${name}: a connection of our own ends, breaks and follows as one of the runtime does`, async () => {
    await using server = await site({ from: at(1000), to: at(1090) });
    const calls = [
      { url: `${server.url}/cut` },
      { url: `${server.url}/never`, abortMs: 1500 },
      { url: `${server.url}/moved` },
      { url: `${server.url}/moved`, redirect: 'error' as const },
      { url: server.url, body: 'hello' },
    ];
    const [cut, never, moved, refused, last] = await probe(program, { floor: at(-2000), calls });
    assert.ok(cut?.error !== undefined, JSON.stringify(cut));
    assert.ok(never?.error !== undefined, JSON.stringify(never));
    assert.equal(moved?.status, 302);
    assert.match(refused?.error ?? '', /TypeError/);
    assert.equal(last?.sha256, hello.sha256);
  });

  test(`${name}: by the proxy of the environment`, async () => {
    await using server = await site({ from: at(1000), to: at(1090) });
    const requests: string[] = [];
    const front = createHttp();
    front.on('connect', (incoming: IncomingMessage, socket: Socket) => {
      requests.push(`${incoming.url} ${incoming.headers['proxy-authorization']}`);
      const onward = connect(server.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      socket.pipe(onward).pipe(socket);
      for (const s of [socket, onward]) s.on('error', () => {});
    });
    await using proxy = await open(front);
    const env = { https_proxy: `http://me:pw@127.0.0.1:${proxy.port}`, no_proxy: '127.0.0.1' };
    const url = `https://localhost:${server.port}/`;
    const [got] = await probe(program, { floor: at(-2000), calls: [{ url, body: 'hello' }] }, env);
    assert.equal(got?.sha256, hello.sha256);
    const sign = `Basic ${Buffer.from('me:pw').toString('base64')}`;
    assert.ok(
      requests.length > 0 && requests.every((line) => line === `localhost:${server.port} ${sign}`),
      requests.join(),
    );
    const before = requests.length;
    const [direct] = await probe(program, { floor: at(-2000), calls: [{ url: `${server.url}/`, body: 'hello' }] }, env);
    assert.equal(direct?.sha256, hello.sha256);
    assert.equal(requests.length, before, 'this machine is not called by a proxy');
  });
}

test.after(() => folder[Symbol.asyncDispose]());
