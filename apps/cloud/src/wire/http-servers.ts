import http from 'node:http';
import http2 from 'node:http2';
import { errorText, type Log } from '@platform/kit';
import type { Unhandled } from '../process/unhandled.ts';
import type { Entrance } from './entrance.ts';
import { http2Stream } from './http2-stream.ts';
import type { Listener, Request, Response } from './request.ts';
import type { StalledRequests } from './stalled-requests.ts';

/** PEM texts. */
export type TlsPair = { cert: string; key: string };

/** The servers of one port by protocol. None of them listens: the port gives them connections. */
export type HttpServers = {
  http1: http.Server;
  h2c: http2.Http2Server;
  /** Undefined: TLS is off. */
  secure: http2.Http2SecureServer | undefined;
  sessions: ReadonlySet<http2.ServerHttp2Session>;
  /** Uses another certificate for new connections. */
  renew(tls: TlsPair): void;
};

/** Longer than clients' pools keep idle connections: otherwise they write into a closing connection. */
export const keepAliveMs = 75_000;
const headersMs = 30_000;
const leastTls = 'TLSv1.2';
/** The same limit as for HTTP/1.1. */
const mostHeaderBytes = 16 * 2 ** 10;
/** Concurrent streams of one HTTP/2 connection. */
const mostStreams = 1_000;

export function httpServers(
  handle: Listener,
  {
    tls,
    stalled,
    entrance,
    log,
  }: { tls: TlsPair | undefined; stalled: StalledRequests; entrance: Entrance | undefined; log: Log },
): HttpServers {
  const http1 = http.createServer(
    // No time limit: a large file may take long. The limit on stalled requests closes one that makes no progress.
    { keepAliveTimeout: keepAliveMs, headersTimeout: headersMs, requestTimeout: 0 },
    handle,
  );
  const sessions = new Set<http2.ServerHttp2Session>();
  const follow = (server: http2.Http2Server | http2.Http2SecureServer) => {
    server.on('sessionError', (error) => log.debug('an HTTP/2 session failed', { error: errorText(error) }));
    server.on('session', (session) => {
      sessions.add(session);
      stalled.followSession(session);
      entrance?.follow(session, session.socket);
      // Before the server's own listener, which calls the handler.
      session.prependListener('stream', (stream) => entrance?.followStream(stream, session));
      session.once('close', () => sessions.delete(session));
    });
  };
  const settings = { maxHeaderListSize: mostHeaderBytes, maxConcurrentStreams: mostStreams };
  const h2c = http2.createServer({ settings }, handle as never);
  follow(h2c);
  const secure =
    tls && http2.createSecureServer({ ...tls, settings, allowHTTP1: true, minVersion: leastTls }, handle as never);
  if (secure) {
    follow(secure);
    secure.on('secureConnection', (socket) => entrance?.follow(socket, socket));
    secure.on('tlsClientError', (error) => log.debug('a TLS handshake failed', { error: errorText(error) }));
    Object.assign(secure, { keepAliveTimeout: keepAliveMs, headersTimeout: headersMs, requestTimeout: 0 });
  }
  // They never listen themselves. This event starts their tracking of connections (timeouts, closing idle ones).
  for (const one of [http1, secure]) one?.emit('listening');
  return {
    http1,
    h2c,
    secure,
    sessions,
    renew: ({ cert, key }) => secure?.setSecureContext({ cert, key, minVersion: leastTls }),
  };
}

/** Admits each request, and ends only the request whose handler fails. */
export function guarded(
  listener: Listener,
  { stalled, entrance, unhandled }: { stalled: StalledRequests; entrance: Entrance | undefined; unhandled: Unhandled },
): Listener {
  const failed = (error: unknown, request: Request, response: Response): void => {
    unhandled.report(error, `${request.method} ${request.url}`);
    const stream = http2Stream(response);
    if (stream) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
  };
  return (request, response) => {
    const handle = (): void => {
      try {
        listener(request, response)?.catch((error: unknown) => failed(error, request, response));
      } catch (error) {
        failed(error, request, response);
      }
    };
    try {
      stalled.follow(request, response);
      if (entrance) entrance.admit(request, response, handle);
      else handle();
    } catch (error) {
      failed(error, request, response);
    }
  };
}
