// CPU per config check of a machine: the fast path, and the same request through Connect and gRPC, of one server in one
// run. On a busy machine, rely on the server's own CPU time; requests per second are a lower bound.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { type CloudReady, readyOf } from '../src/cloud-process.ts';

const rounds = 3;
const warmMs = 1_500;
const measureMs = 3_000;
const connections = 64;
const call = '/platform.app.agent.v1.AgentDeviceService/DeviceAgentConfig';
const main = path.resolve(import.meta.dirname, '../../apps/cloud/src/main.ts');

/** Sends requests until `stop` is set. @returns the number of answers. */
type Load = (stop: { isSet: boolean }) => Promise<number>;

/** If the machine has two cores and taskset, pins the server to the first and the load to the second. */
const canPin = os.availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

async function startServer(folder: string): Promise<{ child: ChildProcess; ready: CloudReady }> {
  const [command, ...args] = [
    ...(canPin ? ['taskset', '-c', '0'] : []),
    process.execPath,
    main,
    '--data-dir',
    folder,
    '--port',
    '0',
    '--log-level',
    'warn',
    // One machine sends all requests.
    '--machine-calls-per-s',
    '0',
  ];
  const child = spawn(command ?? '', args, { env: plainEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  if (canPin) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
  return { child, ready: readyOf(line) };
}

/** User and system time of a process with all its threads, µs. */
const cpuUs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    const ns = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    return sum + ns / 1000;
  }, 0);

async function json<T>(url: string, method: string, body: object, token?: string): Promise<T> {
  const response = await fetch(`${url}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

const authenticate = async (url: string, type: string, entity: string, payload: string): Promise<string> =>
  (
    await json<{ accessToken: string }>(url, 'proto.rpc.v1.AuthService/Authenticate', {
      entity,
      credentials: { type, payload },
    })
  ).accessToken;

/** Over kept-alive HTTP/1.1 connections, one request at a time on each. */
const overHttp1 =
  (url: string, headers: Record<string, string>, body: Uint8Array): Load =>
  async (stop) => {
    const { hostname, port, host } = new URL(url);
    const lines = Object.entries({ host, ...headers, 'content-length': String(body.length) }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const request = Buffer.concat([Buffer.from(`POST ${call} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), body]);
    const one = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const state = { count: 0, got: Buffer.alloc(0) };
        const socket = net.connect({ host: hostname, port: Number(port), noDelay: true }, () => socket.write(request));
        socket.on('error', reject);
        socket.on('data', (chunk) => {
          state.got = state.got.length === 0 ? chunk : Buffer.concat([state.got, chunk]);
          const end = state.got.indexOf('\r\n\r\n');
          if (end < 0) return;
          const head = state.got.toString('latin1', 0, end);
          if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head));
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
          if (state.got.length < end + 4 + length) return;
          state.got = Buffer.alloc(0);
          state.count++;
          if (!stop.isSet) return void socket.write(request);
          socket.destroy();
          resolve(state.count);
        });
      });
    const counts = await Promise.all(Array.from({ length: connections }, one));
    return counts.reduce((a, b) => a + b);
  };

/** gRPC over HTTP/2, with the same concurrency on fewer connections. */
const overGrpc =
  (url: string, headers: Record<string, string>, body: Uint8Array): Load =>
  async (stop) => {
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
    const sessions = Array.from({ length: 8 }, () => http2.connect(url));
    const one = async (session: http2.ClientHttp2Session): Promise<number> => {
      let count = 0;
      for (; !stop.isSet; count++) {
        const stream = session.request({
          ':method': 'POST',
          ':path': call,
          'content-type': 'application/grpc',
          te: 'trailers',
          ...headers,
        });
        stream.end(frame);
        stream.resume();
        const [trailers] = (await once(stream, 'trailers')) as [http2.IncomingHttpHeaders];
        if (trailers['grpc-status'] !== '0')
          throw new Error(`grpc-status ${String(trailers['grpc-status'])}: ${String(trailers['grpc-message'])}`);
      }
      return count;
    };
    const counts = await Promise.all(
      sessions.flatMap((session) => Array.from({ length: connections / 8 }, () => one(session))),
    );
    for (const session of sessions) session.close();
    return counts.reduce((a, b) => a + b);
  };

async function measure(pid: number, load: Load): Promise<{ us: number; perSecond: number }> {
  const warm = { isSet: false };
  const warming = load(warm);
  await systemClock.sleep(warmMs);
  warm.isSet = true;
  await warming;
  const stop = { isSet: false };
  const [cpu, start] = [cpuUs(pid), systemClock.now()];
  const running = load(stop);
  await systemClock.sleep(measureMs);
  stop.isSet = true;
  const count = await running;
  return { us: (cpuUs(pid) - cpu) / count, perSecond: (count / (systemClock.now() - start)) * 1000 };
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function bench(): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'platform-bench-'));
  const { child, ready } = await startServer(folder);
  try {
    const { url } = ready;
    const owner = await authenticate(url, 'api-key', ready.api_key_id, ready.api_key);
    const created = await json<{ credentialsJson: string }>(
      url,
      'platform.fleet.v1.FleetService/CreateMachine',
      { organizationId: ready.org_id, name: 'bench' },
      owner,
    );
    const { cloud } = JSON.parse(created.credentialsJson) as { cloud: { id: string; secret: string } };
    const token = await authenticate(url, 'robot-secret', cloud.id, cloud.secret);
    const ask = { id: cloud.id, hostInfo: { platform: 'linux/amd64', distro: 'debian:12', tags: ['platform-agent'] } };
    const encode = (knownFingerprint: string) =>
      toBinary(DeviceAgentConfigRequestSchema, create(DeviceAgentConfigRequestSchema, { ...ask, knownFingerprint }));
    const authorization = `Bearer ${token}`;
    const first = await fetch(url + call, {
      method: 'POST',
      headers: { 'content-type': 'application/proto', authorization },
      body: encode('none'),
    });
    const { fingerprint } = fromBinary(DeviceAgentConfigResponseSchema, new Uint8Array(await first.arrayBuffer()));
    const body = encode(fingerprint);
    const proto = { 'content-type': 'application/proto', 'connect-protocol-version': '1', authorization };

    const loads: [name: string, load: Load][] = [
      ['fast path', overHttp1(url, proto, body)],
      // The fast path does not handle requests with a content encoding.
      ['Connect', overHttp1(url, { ...proto, 'content-encoding': 'identity' }, body)],
      ['gRPC', overGrpc(url, { authorization }, body)],
    ];
    const found = new Map<string, { us: number; perSecond: number }[]>();
    for (let round = 0; round < rounds; round++) {
      for (const [name, load] of loads)
        found.set(name, [...(found.get(name) ?? []), await measure(child.pid ?? 0, load)]);
    }
    const fast = median((found.get('fast path') ?? []).map((one) => one.us));
    process.stdout.write(
      `${connections} connections, request ${body.length} bytes, medians of ${rounds}${canPin ? ', server and load on a core each' : ''}\n`,
    );
    for (const [name, all] of found) {
      const us = median(all.map((one) => one.us));
      const rate = median(all.map((one) => one.perSecond));
      process.stdout.write(
        `${name.padEnd(10)} ${us.toFixed(1).padStart(7)} µs CPU per check   ${(us / fast).toFixed(1).padStart(5)} ×   ${Math.round(rate).toString().padStart(6)}/s\n`,
      );
    }
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

await bench();
