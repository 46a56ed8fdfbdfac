// One request in each protocol of the port, with a caller that may disconnect.
import { type EventEmitter, once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';

export type Sent = { name: string; method: string; path: string; headers: Record<string, string>; body: Buffer };
/** A request in progress. */
export type Under = { answered: Promise<unknown>; reset(): Promise<unknown> };
export type Way = { name: string; send(request: Sent): Under; close(): void };

/** Resolves after an error, too. */
const closeOf = (emitter: EventEmitter): Promise<void> =>
  new Promise((resolve) => void emitter.once('close', () => resolve()));

export function overHttp1(url: string): Way {
  const { request } = url.startsWith('https:') ? https : http;
  return {
    name: url.startsWith('https:') ? 'HTTP/1.1 with TLS' : 'HTTP/1.1',
    send({ method, path: where, headers, body }) {
      const asked = request(url + where, {
        method,
        headers: { ...headers, 'content-length': body.length },
        agent: false,
        rejectUnauthorized: false,
      });
      asked.on('error', () => {});
      asked.end(body);
      return {
        answered: once(asked, 'response').then(([answer]) => (answer as http.IncomingMessage).destroy()),
        async reset() {
          const closed = closeOf(asked);
          asked.destroy();
          await closed;
          // When this is answered, the server has seen the end of the other connection.
          await fetch(`${url.replace('https:', 'http:')}/livez`);
        },
      };
    },
    close: () => {},
  };
}

export function overHttp2(url: string): Way {
  const session = http2.connect(url, { rejectUnauthorized: false });
  session.on('error', () => {});
  return {
    name: url.startsWith('https:') ? 'HTTP/2 with TLS' : 'h2c',
    send({ method, path: where, headers, body }) {
      const stream = session.request({ ...headers, ':method': method, ':path': where });
      stream.on('error', () => {});
      stream.end(body);
      const close = async (): Promise<void> => {
        const closed = closeOf(stream);
        stream.close(http2.constants.NGHTTP2_CANCEL);
        await closed;
      };
      return {
        answered: once(stream, 'response').then(close),
        async reset() {
          await close();
          await new Promise((resolve) => session.ping(resolve));
        },
      };
    },
    close: () => session.destroy(),
  };
}

/** Frames one message as gRPC and gRPC-Web do. */
export function frameOf(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Headers of a gRPC call for the protocol of this `Way`. */
export const callHeaders = ({ name }: Way): Record<string, string> => ({
  'content-type': name.startsWith('HTTP/1') ? 'application/grpc-web+proto' : 'application/grpc',
  te: 'trailers',
});
