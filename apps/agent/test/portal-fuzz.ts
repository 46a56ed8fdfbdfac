import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { seededRandom } from '@platform/kit/testing';
import { built } from './built.ts';
import { startEndpoints, type RunningEndpoints } from './endpoints-rig.ts';
import { postOf, sendRaw } from './portal-requests.ts';

type Random = () => number;
const mib = 1024 * 1024;
const atOnce = 24;
const below = (random: Random, n: number): number => Math.floor(random() * n);
const pick = <T>(random: Random, of: readonly T[]): T => of[below(random, of.length)]!;

/** One hostile request: a valid one with mutations, or bytes without any sense. */
function hostileRequest(random: Random, host: string, token: string): Buffer[] {
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(random, 256)));
  const fields = new URLSearchParams({
    token: pick(random, [token, token, '', 'x']),
    [pick(random, ['ssid', 'pick', 'password', 'platformconfig'])]: bytes(below(random, 60)).toString('latin1'),
    password: 'p'.repeat(below(random, 80)),
    ssid: pick(random, ['Farm House', '\0', '😈'.repeat(9), '<script>', '']),
  }).toString();
  const bases: (() => readonly (string | Buffer)[])[] = [
    () => [
      `GET ${pick(random, ['/', '/portal.js', '/generate_204', '//..//%00', `/${'a'.repeat(below(random, 5000))}`])} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ],
    () => postOf(host, fields),
    () => postOf(host, bytes(below(random, 2000))),
    () => postOf(host, `${fields}&x=${'%'.repeat(below(random, 50))}`),
    () => [
      `POST /save HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${pick(random, ['0', '99999', '1e3', '-1', '65536', ' 5'])}\r\n\r\n`,
      bytes(50),
    ],
    () => [bytes(below(random, 10_000))],
    () => [`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(below(random, 3000))}\r\n`],
  ];
  const whole = Buffer.concat(pick(random, bases)().map((part) => Buffer.from(part)));
  for (let n = below(random, 4); n > 0 && whole.length > 0; n--)
    whole[below(random, whole.length)] = below(random, 256);
  const cut = random() < 0.2 ? whole.subarray(0, below(random, whole.length + 1)) : whole;
  const at = below(random, cut.length + 1);
  return random() < 0.3 ? [cut.subarray(0, at), cut.subarray(at)] : [cut];
}

async function anonymousMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1024;
}

const tokenOf = async (url: string): Promise<string> =>
  /name="token" value="(\w+)"/.exec(await (await fetch(url)).text())?.[1] ?? '';

const open = (): Promise<RunningEndpoints> =>
  startEndpoints([built('platform-agent').file, 'endpoints'], { memoryLimitBytes: 96 * mib });

/** Sends hostile requests to the built program: it stays the same process, serves, and its memory has a bound. */
export async function fuzzPortal(requests: number, seed: number): Promise<string> {
  await using endpoints = await open();
  const pid = await endpoints.pid();
  const port = endpoints.ports.portal;
  const token = await tokenOf(endpoints.url);
  const random = seededRandom(seed);
  const answers = new Map<string, number>();
  let left = requests;
  let most = 0;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const { status } = await sendRaw({ port }, hostileRequest(random, `127.0.0.1:${port}`, token));
      const key = String(status ?? 'closed');
      answers.set(key, (answers.get(key) ?? 0) + 1);
      if (left % 500 === 0) most = Math.max(most, await anonymousMib(pid));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  assert.equal((await fetch(endpoints.url)).status, 200);
  assert.equal(await endpoints.pid(), pid, JSON.stringify(endpoints.log.lines));
  assert.ok(most < 96, `${most} MiB`);
  for (const { wifi } of endpoints.submissions) {
    if (!wifi) continue;
    assert.ok(Buffer.byteLength(wifi.ssid) <= 32);
    const size = Buffer.byteLength(wifi.psk);
    assert.ok(size === 0 || (size >= 8 && size <= 63) || /^[0-9a-f]{64}$/i.test(wifi.psk), JSON.stringify(wifi.psk));
    assert.doesNotMatch(wifi.psk, /\p{Cc}/u);
  }
  const seen = [...answers].toSorted().map(([status, count]) => `${status}: ${count}`);
  return `seed ${seed}, ${requests} requests: ${seen.join(', ')}; ${endpoints.submissions.length} submissions; at most ${most.toFixed(1)} MiB`;
}

/** Connections that say nothing: as many as a client wants. The portal still serves, and keeps few of them. */
export async function floodPortal(connections: number): Promise<string> {
  await using endpoints = await open();
  const pid = await endpoints.pid();
  const port = endpoints.ports.portal;
  const sockets: Socket[] = [];
  let closed = 0;
  for (const ports of [port, endpoints.ports.rpc]) {
    for (let n = 0; n < connections; n++) {
      const socket = connect(ports, '127.0.0.1');
      socket.on('error', () => {});
      socket.once('close', () => closed++);
      await once(socket, 'connect');
      socket.write('POST /save HTTP/1.1\r\nContent-Length: 65536\r\n\r\n'.slice(0, n));
      sockets.push(socket);
    }
  }
  assert.equal((await fetch(endpoints.url)).status, 200);
  const most = await anonymousMib(pid);
  const cutOff = closed;
  const token = await tokenOf(endpoints.url);
  const body = new URLSearchParams({ token, ssid: 'Barn Guests' }).toString();
  const answers = await Promise.all(
    Array.from({ length: connections }, () => sendRaw({ port }, postOf(`127.0.0.1:${port}`, body))),
  );
  assert.ok(answers.some(({ status }) => status === 303));
  assert.ok(endpoints.submissions.length < 100, 'a flood of forms is not passed on');
  for (const socket of sockets) socket.destroy();
  assert.equal((await fetch(endpoints.url)).status, 200);
  assert.equal(await endpoints.pid(), pid, JSON.stringify(endpoints.log.lines));
  assert.ok(most < 96, `${most} MiB`);
  return `${2 * connections} silent connections: ${cutOff} closed; ${endpoints.submissions.length} of ${connections} forms passed on; ${most.toFixed(1)} MiB`;
}
