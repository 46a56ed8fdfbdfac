import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { PlatformError } from '@platform/contract/errors/errors';
import { bodyLimitBytes, headLimitBytes, readRequest, replyText } from './http-text.ts';

const post = (body: string, ...headers: string[]): string =>
  ['POST /pin?x=1 HTTP/1.1', 'Host: agent', ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join(
    '\r\n',
  );

test('requests as curl and node:http send them; in any pieces', () => {
  const whole = Buffer.from(post('{"desired": "ä"}', 'Accept: */*', 'User-Agent: curl/8.0'));
  for (let length = 0; length < whole.length; length++) assert.equal(readRequest(whole.subarray(0, length)), undefined);
  assert.deepEqual(readRequest(whole), { method: 'POST', path: '/pin', body: '{"desired": "ä"}' });
  assert.deepEqual(readRequest(Buffer.from('GET /status HTTP/1.1\r\nhost:\tx \r\n\r\n')), {
    method: 'GET',
    path: '/status',
    body: '',
  });
});

const bad: [name: string, text: string, code: string][] = [
  ['no HTTP', 'hello there, agent\r\n\r\n', 'INVALID_ARGUMENT'],
  ['TLS', '\u0016\u0003\u0001\u0002', 'INVALID_ARGUMENT'],
  ['no HTTP version', 'GET /status\r\n\r\n', 'INVALID_ARGUMENT'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'INVALID_ARGUMENT'],
  ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 'INVALID_ARGUMENT'],
  ['a header on two lines', 'GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n', 'INVALID_ARGUMENT'],
  ['a length that is none', 'POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n', 'INVALID_ARGUMENT'],
  ['a body in chunks', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n', 'INVALID_ARGUMENT'],
  ['a head without end', `GET /${'x'.repeat(headLimitBytes)}`, 'MESSAGE_TOO_LARGE'],
  ['a long head', `GET / HTTP/1.1\r\na: ${'x'.repeat(headLimitBytes)}\r\n\r\n`, 'MESSAGE_TOO_LARGE'],
  ['a long body', `POST / HTTP/1.1\r\ncontent-length: ${bodyLimitBytes + 1}\r\n\r\n`, 'MESSAGE_TOO_LARGE'],
];
for (const [name, text, code] of bad) {
  test(`no request: ${name}`, () => assert.throws(() => readRequest(Buffer.from(text, 'latin1')), { code }));
}

test('whatever comes, it is a request, a part of one, or refused in words of the table', () => {
  const random = seededRandom(7);
  const good = Buffer.from(post('{"program": "agent"}'));
  for (let turn = 0; turn < 5000; turn++) {
    const bytes = Buffer.from(good);
    for (let i = 0; i < 1 + random() * 6; i++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    try {
      readRequest(bytes);
    } catch (error) {
      assert.ok(error instanceof PlatformError, String(error));
    }
  }
});

test('an answer has the length of its bytes', () => {
  const [head = '', body = ''] = replyText(undefined, { did: 'ä' }).split('\r\n\r\n');
  assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(head, new RegExp(`content-length: ${Buffer.byteLength(body)}(\r|$)`));
  assert.match(replyText('MESSAGE_TOO_LARGE', {}), /^HTTP\/1\.1 429 MESSAGE_TOO_LARGE\r\n/);
});
