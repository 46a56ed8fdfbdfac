import { PlatformError } from '@platform/contract/errors/errors';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer, failure } from './routes.ts';
import type { Answer, RouteDeps } from './routes.ts';

export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a free port of the loopback interface. */
export async function serveHttp(deps: RouteDeps): Promise<HttpServer> {
  const stop = new AbortController();
  const server = createServer((request, response) => {
    void respond(request, response, deps, stop.signal);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      stop.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  deps: RouteDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    const given = isLocal(request)
      ? await answer(askOf(request, signal), deps)
      : failure(new PlatformError('FORBIDDEN_CALLER'));
    send(request, response, given);
  } catch (error) {
    deps.log.warn('answer not sent', { error });
    response.destroy();
  }
}

function send(request: IncomingMessage, response: ServerResponse, { status, contentType, body }: Answer): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes.length,
    'cache-control': 'no-store',
    // Close the connection if the request body was not read completely.
    ...(request.complete ? {} : { connection: 'close' }),
  });
  response.end(bytes);
}

/** Accepts only local callers with a local host name: this prevents DNS rebinding. */
function isLocal(request: IncomingMessage): boolean {
  const address = request.socket.remoteAddress ?? '';
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  return /^(127\.|::1$|::ffff:127\.)/.test(address) && ['127.0.0.1', 'localhost', '[::1]'].includes(host);
}

function askOf(request: IncomingMessage, signal: AbortSignal) {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  return {
    method: request.method ?? 'GET',
    path: pathname
      .split('/')
      .filter((word) => word !== '')
      .map(decoded),
    body: (limitBytes: number) => readBody(request, limitBytes),
    signal,
  };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

async function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limitBytes) throw new PlatformError('BLOB_TOO_LARGE', { sizeBytes: announced, limitBytes });
  const parts: Buffer[] = [];
  let size = 0;
  // Not `for await`: leaving its loop early would close the connection before the error response is sent.
  return new Promise((resolve, reject) => {
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size > limitBytes) reject(new PlatformError('BLOB_TOO_LARGE', { limitBytes }));
      else parts.push(part);
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('error', reject);
  });
}
