import assert from 'node:assert/strict';
import type net from 'node:net';
import { Duplex } from 'node:stream';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { agentCheckPath, serverCheckPath } from './check.ts';
import { plainChecks, readPlainCheck } from './plain-checks.ts';

const usual = [
  'host: platform.example:8080',
  'content-type: application/proto',
  'Authorization: Bearer a.b.c',
  'content-length: 3',
];
const request = (headers: readonly string[], body = 'abc', first = `POST ${agentCheckPath} HTTP/1.1`): Buffer =>
  Buffer.from(`${[first, ...headers].join('\r\n')}\r\n\r\n${body}`, 'latin1');

for (const path of [agentCheckPath, serverCheckPath]) {
  test(`a whole check is read, and at any cut more is waited for: ${path}`, () => {
    const whole = request([...usual, 'user-agent: x', 'connection: keep-alive'], 'abc', `POST ${path} HTTP/1.1`);
    const read = readPlainCheck(whole);
    assert.ok(read.is === 'check');
    assert.deepEqual(
      { ...read.request, body: Buffer.from(read.request.body).toString() },
      { path, authorization: 'Bearer a.b.c', host: 'platform.example:8080', isSecure: false, body: 'abc' },
    );
    for (let cut = 0; cut < whole.length; cut++)
      assert.equal(readPlainCheck(whole.subarray(0, cut)).is, 'more', `${cut}`);
  });
}

const others: [name: string, bytes: Buffer][] = [
  ['another path', request(usual, 'abc', 'POST /x HTTP/1.1')],
  ['a longer path', request(usual, 'abc', `POST ${agentCheckPath}s HTTP/1.1`)],
  ['another method', request(usual, 'abc', `GET ${agentCheckPath} HTTP/1.1`)],
  ['an older HTTP', request(usual, 'abc', `POST ${agentCheckPath} HTTP/1.0`)],
  ['something behind it', request(usual, 'abcd')],
  ['another form of body', request([...usual, 'transfer-encoding: chunked'])],
  ['compressed', request([...usual, 'content-encoding: gzip'])],
  ['waits for 100-continue', request([...usual, 'expect: 100-continue'])],
  ['a page of another site', request([...usual, 'origin: https://evil.example'])],
  ['a session', request([...usual, 'cookie: platform_session=x'])],
  ['closes afterwards', request([...usual, 'connection: close'])],
  ['a header twice', request([...usual, 'Content-Length: 4'])],
  ['a length with a sign', request([...usual.slice(0, 3), 'content-length: +3'])],
  ['a length of two numbers', request([...usual.slice(0, 3), 'content-length: 3, 3'])],
  ['no length', request(usual.slice(0, 3))],
  ['a length of nothing', request([...usual.slice(0, 3), 'content-length: 0'], '')],
  ['longer than a check', request([...usual.slice(0, 3), 'content-length: 2049'])],
  ['JSON', request([usual[0] ?? '', 'content-type: application/json', ...usual.slice(2)])],
  ['no token', request([...usual.slice(0, 2), usual[3] ?? ''])],
  ['no host', request(usual.slice(1))],
  ['a folded header', request([...usual, 'x: 1', ' 2'])],
  ['a blank before the colon', request([...usual, 'x : 1'])],
  ['a control character', request([...usual, 'x: a\u0001b'])],
  ['a line that ends with CR CR LF', request([`${usual[0]}\r`, ...usual.slice(1)])],
  ['a length with a blank that is none', request([...usual.slice(0, 3), 'content-length: 3\u00a0'])],
  ['a control character before a value', request([...usual, 'x:\u000b1'])],
  ['a line that ends with LF alone', request([...usual, 'x: 1\ny: 2'])],
  ['a head without end', Buffer.from(`POST ${agentCheckPath} HTTP/1.1\r\nx: ${'a'.repeat(5_000)}`)],
];
for (const [name, bytes] of others)
  test(`not read as a check: ${name}`, () => assert.equal(readPlainCheck(bytes).is, 'other'));

test('who asks and does not read gets no further answer, and is let go in the end', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const written: (() => void)[] = [];
  // The client reads nothing until the test calls `done`.
  const socket = new Duplex({ read() {}, write: (_, __, done) => void written.push(done) });
  socket.on('error', () => {});
  const asked = { count: 0 };
  const plain = plainChecks({
    take: (_, reply) => {
      asked.count++;
      reply.send(200, [], Buffer.alloc(100_000));
      return true;
    },
    other: () => assert.fail('it is a check'),
    clock,
    keepAliveMs: 75_000,
    stop: stop.signal,
  });
  assert.equal(plain.take(socket as net.Socket, request(usual)), 'check');
  for (const next of [1, 2]) {
    socket.push(request(usual));
    await clock.settle();
    assert.equal(asked.count, next, 'not before the answer was read');
    written.shift()?.();
    await clock.settle();
    assert.equal(asked.count, next + 1);
  }
  await clock.advance(90_000);
  assert.equal(socket.destroyed, true);
  stop.abort();
});
