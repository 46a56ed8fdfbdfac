import { checkPaths } from '../src/wire/check.ts';
// Mutated requests for the hand-written reader of config checks: it parses the same requests as Node's parser, or hands
// over.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type net from 'node:net';
import test from 'node:test';
import { FakeClock, seededRandom } from '@platform/kit/testing';
import { plainChecks } from '../src/wire/plain-checks.ts';

const isShort = process.env['PLATFORM_ATTACK'] === 'short';
const streams = isShort ? 50_000 : 1_000_000;
/** Streams that are split at each of their boundaries in turn. */
const splitStreams = isShort ? 100 : 1_000;

type Seen = { path: string; authorization: string | undefined; host: string | undefined; body: string };
type Parser = {
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): number | Error;
  [callback: number]: (...args: never[]) => unknown;
};
type ParserClass = (new () => Parser) &
  Record<'REQUEST' | 'kOnHeaders' | 'kOnHeadersComplete' | 'kOnBody' | 'kOnMessageComplete', number>;
const { HTTPParser } = createRequire(import.meta.url)('_http_common') as { HTTPParser: ParserClass };

/** Returns the requests that Node's parser finds, and whether it accepts all bytes. */
function seenByNode(bytes: Buffer): { seen: Seen[]; isWhole: boolean } {
  const seen: Seen[] = [];
  const current = { fields: [] as string[], url: '', body: [] as Buffer[], isOpen: false, isKept: true };
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {});
  parser[HTTPParser.kOnHeaders] = (fields: string[], url: string) => {
    current.fields.push(...fields);
    current.url += url;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    ...[, , fields, , url, , , , isKept]: [
      number,
      number,
      string[] | undefined,
      number,
      string | undefined,
      ...unknown[],
    ]
  ) => {
    current.fields.push(...(fields ?? []));
    current.url += url ?? '';
    current.isOpen = true;
    current.isKept &&= isKept === true;
    return 0;
  };
  parser[HTTPParser.kOnBody] = (piece: Buffer) => void current.body.push(Buffer.from(piece));
  parser[HTTPParser.kOnMessageComplete] = () => {
    const header = (name: string): string | undefined => {
      const at = current.fields.findIndex((field, n) => n % 2 === 0 && field.toLowerCase() === name);
      return at < 0 ? undefined : current.fields[at + 1];
    };
    seen.push({
      path: current.url,
      authorization: header('authorization'),
      host: header('host'),
      body: Buffer.concat(current.body).toString('latin1'),
    });
    Object.assign(current, { fields: [], url: '', body: [], isOpen: false });
  };
  const taken = parser.execute(bytes);
  return { seen, isWhole: taken === bytes.length && !current.isOpen && current.isKept };
}

/** A socket whose bytes are available at once. */
class PushedSocket extends EventEmitter {
  readable = true;
  #bytes = Buffer.alloc(0);
  push(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.#bytes.length > 0) this.emit('readable');
  }
  read(): Buffer | null {
    const bytes = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    return bytes.length > 0 ? bytes : null;
  }
  write = (): boolean => true;
  end(): void {}
  destroy(): void {}
}

/** @param isLate - whether the answer to a check waits for more bytes. */
function reader(isLate: () => boolean): (chunks: readonly Buffer[]) => { seen: Seen[]; isHandedOver: boolean } {
  const found = { seen: [] as Seen[], isHandedOver: false };
  const waiting: (() => void)[] = [];
  const plain = plainChecks({
    take({ path, authorization, host, body }, reply) {
      found.seen.push({ path, authorization, host, body: Buffer.from(body).toString('latin1') });
      const send = (): void => reply.send(200, [], Buffer.alloc(0));
      if (isLate()) waiting.push(send);
      else send();
      return true;
    },
    other(socket) {
      found.isHandedOver = true;
      socket.removeAllListeners('readable');
    },
    clock: new FakeClock(),
    keepAliveMs: 75_000,
    stop: new AbortController().signal,
  });
  /** As the port does: until the first bytes identify the protocol. */
  return (chunks) => {
    Object.assign(found, { seen: [], isHandedOver: false });
    waiting.length = 0;
    const socket = new PushedSocket();
    let first: Buffer | undefined = Buffer.alloc(0);
    const answer = (): void => {
      while (waiting.length > 0) {
        for (const send of waiting.splice(0)) send();
        socket.push(Buffer.alloc(0));
      }
    };
    for (const chunk of chunks) {
      if (found.isHandedOver) break;
      if (!first) {
        socket.push(chunk);
        if (!isLate()) answer();
        continue;
      }
      first = Buffer.concat([first, chunk]);
      const is = plain.take(socket as unknown as net.Socket, first);
      if (is === 'other') found.isHandedOver = true;
      if (is === 'check') first = undefined;
    }
    answer();
    return { ...found };
  };
}

type Pick = <T>(of: readonly T[]) => T;

const odd = ['', ' ', '\t', '\u00a0', '\u000b', '\u000c', '\r', '\n', '\u0000', '\u0085', '\u00ff', '  '];
const lengths = (size: number) => [
  `${size}`,
  `${size} `,
  `+${size}`,
  `0${size}`,
  `${size}\u00a0`,
  `${size}, ${size}`,
  `0x${size}`,
  `${size + 1}`,
  `${size - 1}`,
  '-1',
  '',
  '1e0',
  `${size}\u000b`,
];

/** A request that is nearly a check. */
function nearly(pick: Pick, random: () => number): string {
  const body = pick(['abc', 'a', '\u0001\u00ff\r\n', `POST ${checkPaths[0]} HTTP/1.1\r\n`]);
  const usual = random() < 0.85;
  const around = (value: string): string => (usual ? value : `${pick(odd)}${value}${pick(odd)}`);
  const lines = [
    `${pick(['host', 'Host', 'HOST'])}:${around(pick([' x', 'x:80', ' [::1]', ' ']))}`,
    `content-type:${around(' application/proto')}`,
    `Authorization:${around(' Bearer a.b.c')}`,
    `content-length:${usual ? ` ${body.length}` : around(pick(lengths(body.length)))}`,
  ];
  const more = [
    'x: 1',
    'x:',
    `x: ${pick(odd)}y`,
    `${pick(odd)}x: 1`,
    `x${pick(odd)}: 1`,
    ' folded',
    '\tfolded',
    ': none',
    'no colon',
    'x:y:z',
    'connection: keep-alive',
    'connection: close',
    'Connection: Keep-Alive, x',
    'connection: upgrade',
    'upgrade: h2c',
    'transfer-encoding: chunked',
    'transfer-encoding : chunked',
    'Transfer-Encoding: identity',
    'te: trailers',
    'trailer: x',
    'expect: 100-continue',
    `content-length: ${body.length}`,
    `Content-Length: ${body.length + 1}`,
    'host: y',
    'authorization: Bearer d',
    'content-encoding: gzip',
    'x: \u00e4',
    'x: "a\\"b"',
    'proxy-connection: close',
    'keep-alive: timeout=5',
    'http2-settings: x',
  ];
  for (let n = pick([0, 0, 0, 1, 2]); n > 0; n--) lines.splice(pick([0, 1, 2, 3, 4]), 0, pick(more));
  if (random() < 0.05) lines.splice(pick([0, 1, 2, 3]), 1);
  const end = pick(['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n']);
  const first = pick([
    ...Array.from({ length: 12 }, () => `POST ${pick(checkPaths)} HTTP/1.1`),
    `POST ${pick(checkPaths)} HTTP/1.0`,
    `POST  ${pick(checkPaths)} HTTP/1.1`,
    `post ${pick(checkPaths)} HTTP/1.1`,
    `POST ${pick(checkPaths)}?a HTTP/1.1`,
    `\r\nPOST ${pick(checkPaths)} HTTP/1.1`,
    `GET ${pick(checkPaths)} HTTP/1.1`,
  ]);
  return `${first}\r\n${lines.join(end)}\r\n\r\n${body}`;
}

function mutated(pick: Pick, random: () => number): Buffer {
  const count = pick([1, 1, 2, 3]);
  const bytes = [...Buffer.from(Array.from({ length: count }, () => nearly(pick, random)).join(''), 'latin1')];
  for (let n = pick([0, 0, 0, 0, 1, 2]); n > 0; n--) {
    const at = Math.floor(random() * bytes.length);
    const byte = pick([Math.floor(random() * 256), 0x0d, 0x0a, 0x20, 0x3a, 0x00, 0x09]);
    pick([
      () => bytes.splice(at, 1, byte),
      () => bytes.splice(at, 0, byte),
      () => bytes.splice(at, 1),
      () => bytes.splice(at, 1, (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))),
    ])();
  }
  return Buffer.from(bytes);
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const all = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return all
    .slice(1)
    .map((end, n) => bytes.subarray(all[n], end))
    .filter((piece) => piece.length > 0);
}

test(`the reader of checks finds what Node's parser finds, or hands over`, (t) => {
  const random = seededRandom(20_261_123);
  const pick: Pick = (of) => of[Math.floor(random() * of.length)] as (typeof of)[number];
  const read = reader(() => random() < 0.3);
  const counts = { streams: 0, reads: 0, checks: 0, handedOver: 0 };
  const compare = (chunks: readonly Buffer[]): void => {
    const { seen, isHandedOver } = read(chunks);
    counts.reads++;
    counts.checks += seen.length;
    counts.handedOver += Number(isHandedOver);
    if (seen.length === 0) return;
    // A check ends with the received bytes: one of the pieces ends where the last one does.
    const prefixes = chunks.map((_, n) => seenByNode(Buffer.concat(chunks.slice(0, n + 1))));
    const input = (): string => JSON.stringify(chunks.map((piece) => piece.toString('latin1')));
    const node = prefixes.find((one) => one.isWhole && one.seen.length === seen.length);
    assert.ok(node, `Node's parser finds other boundaries: ${input()}`);
    assert.deepEqual(seen, node.seen, input());
  };
  for (; counts.streams < streams; counts.streams++) {
    const bytes = mutated(pick, random);
    const cuts = Array.from({ length: pick([0, 1, 2, 5]) }, () => Math.floor(random() * bytes.length));
    // Often a request arrives as a separate chunk.
    const next = bytes.indexOf('POST ', 1);
    compare(split(bytes, next > 0 && pick([true, true, false]) ? [...cuts, next] : cuts));
    if (counts.streams >= splitStreams) continue;
    for (let cut = 1; cut < bytes.length; cut++) compare(split(bytes, [cut]));
  }
  assert.ok(counts.checks > counts.streams / 50, 'enough of them are checks');
  t.diagnostic(JSON.stringify(counts));
});
