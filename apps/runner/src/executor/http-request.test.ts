import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import { sendRequest, type HttpEndpoint } from './http-request.ts';

const signal = new AbortController().signal;

/** A server on a Unix socket, which slurmrestd supports. */
async function listen(folder: TempFolder, listener: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(folder.file('socket'), resolve));
  return {
    url: `unix:${folder.file('socket')}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
const place = (url: string, clock: HttpEndpoint['clock'] = systemClock): HttpEndpoint => ({
  engine: 'Slurm',
  url,
  clock,
});
const isUnreachable = (text: RegExp) => (error: unknown) =>
  error instanceof PlatformError && error.code === 'ENGINE_UNREACHABLE' && text.test(error.message);

test('over a Unix socket: body, type and headers arrive; the answer comes with its status', async () => {
  await using folder = await tempFolder();
  await using server = await listen(folder, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method, url, headers } = request;
      const { 'content-type': type, 'content-length': length, connection, 'x-own': own } = headers;
      const seen = { method, url, type, length, connection, own, body: Buffer.concat(parts).toString() };
      response.writeHead(409).end(JSON.stringify(seen));
    });
  });
  const headers = { 'x-own': 'yes' };
  const answer = await sendRequest(
    place(server.url),
    { method: 'POST', path: '/a?b=c', headers, body: { text: 'ä' } },
    signal,
  );
  assert.equal(answer.status, 409);
  assert.deepEqual(answer.json, {
    method: 'POST',
    url: '/a?b=c',
    type: 'application/json',
    length: '13',
    connection: 'keep-alive',
    own: 'yes',
    body: '{"text":"ä"}',
  });
});

test('an answer that is not JSON is text; one that breaks off is none', async () => {
  await using folder = await tempFolder();
  await using server = await listen(folder, (request, response) => {
    if (request.url === '/text') response.end('Authentication failure');
    else {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"half":');
      setImmediate(() => response.destroy());
    }
  });
  const { json, text } = await sendRequest(place(server.url), { method: 'GET', path: '/text' }, signal);
  assert.deepEqual([json, text], [undefined, 'Authentication failure']);
  await assert.rejects(
    sendRequest(place(server.url), { method: 'GET', path: '/half' }, signal),
    isUnreachable(/aborted|hang up|ECONNRESET/),
  );
});

test('a request without an answer ends after its time limit, and at once when it is aborted', async () => {
  await using folder = await tempFolder();
  await using server = await listen(folder, () => {});
  const clock = new FakeClock();
  const waiting = sendRequest(place(server.url, clock), { method: 'GET', path: '/' }, signal);
  const seen = assert.rejects(waiting, isUnreachable(/15/));
  await clock.advance(16_000);
  await seen;
  const abort = new AbortController();
  const given = sendRequest(place(server.url), { method: 'GET', path: '/' }, abort.signal);
  abort.abort();
  await assert.rejects(given, (error) => !(error instanceof PlatformError));
  await assert.rejects(
    sendRequest(place(`unix:${folder.file('absent')}`), { method: 'GET', path: '/' }, signal),
    isUnreachable(/ENOENT/),
  );
});
