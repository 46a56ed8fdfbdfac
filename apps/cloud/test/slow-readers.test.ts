import type { Listener } from '../src/wire/request.ts';
// A client that downloads a public file without reading it keeps its connection for a limited time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import test from 'node:test';
import { systemClock } from '@platform/kit/node';
import { trustedProxies } from '../src/wire/addresses.ts';
import { openEntrance } from '../src/wire/entrance.ts';
import { unprovenCalls } from '../src/wire/unproven-calls.ts';
import { openPort } from '../src/wire/mux.ts';
import { visitors } from '../src/wire/visitors.ts';
import { testLog, testUnhandled } from './database.ts';

const folder = path.join(import.meta.dirname, 'tls');
const chunk = Buffer.alloc(2 ** 16, 'x');
/** More than the kernel buffers for both sides. */
const chunks = 1_024;
const longMs = 3_600_000;

/** Like the routes of public files: streams into the answer. */
const file: Listener = async (_, response) => {
  response.writeHead(200, { 'content-length': chunk.length * chunks });
  await pipeline(Readable.from(Array.from({ length: chunks }, () => chunk)), response).catch(() => response.destroy());
};

type Reader = { read(): Promise<number>; leave(): void };
type Way = [name: string, open: (url: string) => Promise<Reader>];

const overHttp1 = async (url: string): Promise<Reader> => {
  const { request } = url.startsWith('https:') ? https : http;
  const asked = request(url, { agent: false, rejectUnauthorized: false });
  asked.on('error', () => {});
  asked.end();
  const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
  return { read: () => lengthOf(answer), leave: () => answer.destroy() };
};
const overHttp2 = async (url: string): Promise<Reader> => {
  const session = http2.connect(url, { rejectUnauthorized: false });
  session.on('error', () => {});
  const stream = session.request({ ':path': '/' });
  await once(stream, 'response');
  stream.on('error', () => {});
  stream.once('close', () => session.destroy());
  return { read: () => lengthOf(stream), leave: () => session.destroy() };
};
async function lengthOf(stream: Readable): Promise<number> {
  let length = 0;
  for await (const part of stream) length += (part as Buffer).length;
  return length;
}

const secure = (url: string): string => url.replace('http:', 'https:');
const ways: readonly Way[] = [
  ['HTTP/1.1', overHttp1],
  ['h2c', overHttp2],
  ['HTTP/1.1 with TLS', (url) => overHttp1(secure(url))],
  ['HTTP/2 with TLS', (url) => overHttp2(secure(url))],
];

for (const [limit, slowest] of [
  ['a least rate', { bytes: 2 ** 16, ms: 2_000, answerMs: longMs }],
  ['a time for the whole answer', { bytes: 0, ms: longMs, answerMs: 2_000 }],
] as const)
  test(`unproven readers of a public file have ${limit}`, { timeout: 60_000 }, async () => {
    const all = visitors({ most: 1_000, ofAddress: 1_000, unprovenMs: longMs, slowest }, systemClock, testLog);
    const port = await openPort(file, {
      host: '127.0.0.1',
      port: 0,
      allowPlaintext: false,
      tls: {
        cert: await readFile(path.join(folder, 'cert.pem'), 'utf8'),
        key: await readFile(path.join(folder, 'key.pem'), 'utf8'),
      },
      entrance: openEntrance(all, {
        isTrusted: trustedProxies(undefined),
        calls: unprovenCalls(0, systemClock),
        signedSubject: () => undefined,
      }),
      clock: systemClock,
      log: testLog,
      unhandled: testUnhandled,
    });
    try {
      const url = `http://127.0.0.1:${port.port}`;
      const unread = await Promise.all(ways.map(([, open]) => open(url)));
      // A client that does not read sees no end: only the server's counters show the close.
      while (all.counts.closed < ways.length) await systemClock.sleep(20);
      if (slowest.bytes > 0)
        for (const [name, open] of ways) assert.equal(await (await open(url)).read(), chunk.length * chunks, name);
      assert.equal(all.counts.closed, ways.length);
      for (const reader of unread) reader.leave();
    } finally {
      await port.close(0);
    }
  });
