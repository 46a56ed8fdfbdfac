// A captive portal differs from the management server by its answer to plain HTTP, from a real server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { probeInternet } from './internet-probe.ts';
import { systemClock } from '@platform/kit/node';
import { isIntercepted } from '../../os/portal-redirect.ts';

const never = new AbortController().signal;

const html = { 'content-type': 'text/html; charset=utf-8' };
const rows: [answer: string, status: number, headers: Record<string, string>, expected: boolean][] = [
  ['a sign-in page on another host', 302, { location: 'http://192.168.50.1/login' }, true],
  ['a sign-in page on another host, for good', 301, { location: 'https://portal.hotel.test/' }, true],
  ['a sign-in page in the place of the host', 302, { location: '/login?from=/livez' }, true],
  ['a sign-in page at once', 200, html, true],
  ['network authentication required', 511, html, true],
  ['the same host over TLS', 308, { location: 'https://127.0.0.1/' }, false],
  ['the same path with a slash', 301, { location: '/livez/' }, false],
  ['what a management server answers', 200, { 'content-type': 'text/plain; charset=utf-8' }, false],
  ['no such page', 404, html, false],
  ['an error', 503, html, false],
  ['a redirect to nowhere', 302, {}, false],
];

for (const [answer, status, headers, expected] of rows)
  test(`plain HTTP, ${answer}: ${expected ? 'intercepted' : 'not intercepted'}`, async () => {
    const server = createServer((_, response) => {
      response.writeHead(status, headers).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    assert.equal(await isIntercepted({ hostname: '127.0.0.1', port }, systemClock, never), expected);
    const probe = {
      host: 'app.example.test',
      isAnswering: async () => false,
      isIntercepted: (signal: AbortSignal) => isIntercepted({ hostname: '127.0.0.1', port }, systemClock, signal),
      ask: async () => undefined,
    };
    assert.equal(await probeInternet(probe, ['127.0.0.1'], never), expected ? 'portal' : 'limited');
    server.close();
    await once(server, 'close');
    assert.equal(await isIntercepted({ hostname: '127.0.0.1', port }, systemClock, never), false, 'nothing answers');
  });
