import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { PlatformError } from '@platform/contract/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Unhandled } from '../process/unhandled.ts';
import type { CheckRequest, Reply } from './check.ts';
import type { Entrance } from './entrance.ts';
import { http2Stream } from './http2-stream.ts';
import { plainChecks } from './plain-checks.ts';
import type { Request, Response, Listener } from './request.ts';
import { unfinished } from './unfinished.ts';

export type PortOptions = {
  host: string;
  /** 0: any free port. */
  port: number;
  /** PEM texts. If set, the same port also accepts TLS. */
  tls?: { cert: string; key: string };
  /** Also accept plaintext connections from other hosts. */
  allowPlaintext: boolean;
  /** Admission of connections. Undefined: no limits by caller or address. */
  entrance?: Entrance;
  /** Closes a connection that sends nothing for this time. */
  firstByteMs?: number;
  /** Closes a connection that announced a message and sends nothing of it for this time. */
  nextByteMs?: number;
  /** Answers config checks of plaintext connections directly. */
  checks?: (request: CheckRequest, reply: Reply) => boolean;
  /** A proxy's connections carry requests of many clients, so the HTTP server reads all of them. */
  isProxy?: (address: string | undefined) => boolean;
  clock: Clock;
  log: Log;
  unhandled: Unhandled;
};

export type Port = {
  /** IP address of the listening socket. */
  address: string;
  port: number;
  /** Uses another certificate for new connections. */
  renew(tls: { cert: string; key: string }): void;
  close(limitMs: number): Promise<void>;
};

type Speaks = 'tls' | 'http2' | 'http1' | 'unknown yet';

const preface = Buffer.from('PRI');
const tlsHandshake = 0x16;

/** Detects the protocol by the first bytes of a connection. */
export function speaks(head: Uint8Array): Speaks {
  if (head[0] === tlsHandshake) return 'tls';
  const start = head.subarray(0, preface.length);
  if (!preface.subarray(0, start.length).equals(start)) return 'http1';
  return start.length < preface.length ? 'unknown yet' : 'http2';
}

export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && (/^(::ffff:)?127\./.test(address) || address === '::1' || address === 'localhost');

/** Reply to a TLS handshake if TLS is off: clients recognize it and may retry in plaintext. */
const noTls = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

/** Longer than clients' pools keep idle connections: otherwise they write into a closing connection. */
const keepAliveMs = 75_000;
const headersMs = 30_000;
const leastTls = 'TLSv1.2';
/** The same limit as for HTTP/1.1. */
const mostHeaderBytes = 16 * 2 ** 10;
/** Concurrent streams of one HTTP/2 connection. */
const mostStreams = 1_000;
/** 10,000 machines, each with two long polls and a few calls. */
const wantedConnections = 40_000;
/** Share of the open files: without spare descriptors, the server could not even connect to its database. */
const ownShare = 0.9;

/** The process's limit of open files. Node has raised the soft limit to the hard limit. */
function openFiles(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity; // not Linux
  }
}

/** Limit of open connections. */
export const mostConnections = (): number => Math.min(wantedConnections, Math.floor(openFiles() * ownShare));

/**
 * One port for HTTP/1.1, HTTP/2 without TLS (detected by its preface) and TLS (by its first byte). ALPN selects the
 * protocol over TLS.
 *
 * @throws PlatformError PORT_IN_USE; INVALID_ARGUMENT for a host that other hosts could reach without TLS.
 */
export async function openPort(listener: Listener, options: PortOptions): Promise<Port> {
  const { clock, log, tls, entrance } = options;
  if (!tls && !options.allowPlaintext && !isLoopback(options.host)) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'host',
      value: options.host,
      limit:
        'without a TLS certificate only this machine may connect: give --tls-cert and --tls-key, or say --allow-plaintext behind a TLS proxy',
    });
  }
  const stop = new AbortController();
  const open = unfinished(clock, options.nextByteMs ?? 120_000, stop.signal);
  const failed = (error: unknown, request: Request, response: Response): void => {
    options.unhandled.report(error, `${request.method} ${request.url}`);
    const stream = http2Stream(response);
    if (stream) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
  };
  const watched: Listener = (request, response) => {
    try {
      open.follow(request, response);
      if (entrance?.admit(request, response) === false) return;
      listener(request, response)?.catch((error: unknown) => failed(error, request, response));
    } catch (error) {
      failed(error, request, response);
    }
  };
  const http1 = http.createServer(
    // No time limit: a large file may take long. The limit on stalled requests closes one that makes no progress.
    { keepAliveTimeout: keepAliveMs, headersTimeout: headersMs, requestTimeout: 0 },
    watched,
  );
  const sessions = new Set<http2.ServerHttp2Session>();
  const follow = (server: http2.Http2Server | http2.Http2SecureServer) => {
    server.on('sessionError', (error) => log.debug('an HTTP/2 session failed', { error: errorText(error) }));
    server.on('session', (session) => {
      sessions.add(session);
      open.followSession(session);
      entrance?.follow(session, session.socket);
      session.once('close', () => sessions.delete(session));
    });
  };
  const settings = { maxHeaderListSize: mostHeaderBytes, maxConcurrentStreams: mostStreams };
  const h2c = http2.createServer({ settings }, watched as never);
  follow(h2c);
  const secure =
    tls && http2.createSecureServer({ ...tls, settings, allowHTTP1: true, minVersion: leastTls }, watched as never);
  if (secure) {
    follow(secure);
    secure.on('secureConnection', (socket) => entrance?.follow(socket, socket));
    secure.on('tlsClientError', (error) => log.debug('a TLS handshake failed', { error: errorText(error) }));
    Object.assign(secure, { keepAliveTimeout: keepAliveMs, headersTimeout: headersMs, requestTimeout: 0 });
  }

  // They never listen themselves. This event starts their tracking of connections (timeouts, closing idle ones).
  for (const one of [http1, secure]) one?.emit('listening');

  const sockets = new Set<net.Socket>();
  /**
   * When each connection that has sent nothing was opened. One timer serves all: 1,000 connections a second may arrive.
   */
  const silent = new Map<net.Socket, number>();
  const firstByteMs = options.firstByteMs ?? 10_000;
  const closeSilent = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(Math.min(1_000, firstByteMs / 4), stop.signal);
      const limit = clock.now() - firstByteMs;
      for (const [socket, since] of silent) if (since < limit) socket.destroy();
    }
  };
  const mayBePlain = (socket: net.Socket): boolean => options.allowPlaintext || isLoopback(socket.remoteAddress);
  const plain =
    options.checks &&
    plainChecks({
      take: entrance?.checks(options.checks) ?? options.checks,
      other(socket, bytes) {
        socket.unshift(bytes);
        http1.emit('connection', socket);
      },
      clock,
      keepAliveMs,
      stop: stop.signal,
    });
  const server = net.createServer({ noDelay: true, pauseOnConnect: false }, (socket) => {
    if (entrance?.enter(socket) === false) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', (error) => {
      log.debug('a connection broke', { error: errorText(error) });
      socket.destroy();
    });
    silent.set(socket, clock.now());
    socket.once('close', () => silent.delete(socket));
    const sniff = () => {
      const head = socket.read() as Buffer | null;
      if (!head) return void socket.once('readable', sniff);
      const found = speaks(head);
      if (found === 'http1' && plain && mayBePlain(socket) && options.isProxy?.(socket.remoteAddress) !== true) {
        const read = plain.take(socket, head);
        if (read === 'check') return void silent.delete(socket);
        if (read === 'more') {
          socket.unshift(head);
          return waitForMore(socket, head.length, sniff);
        }
      }
      socket.unshift(head);
      if (found === 'unknown yet') {
        // The bytes put back make the stream readable at once: wait for more than those.
        return waitForMore(socket, head.length, sniff);
      }
      silent.delete(socket);
      if (found !== 'tls' && !mayBePlain(socket)) return void socket.destroy();
      const to = found === 'tls' ? secure : found === 'http2' ? h2c : http1;
      if (!to) return void socket.end(noTls);
      to.emit('connection', socket);
    };
    socket.once('readable', sniff);
  });
  server.maxConnections = mostConnections();
  server.on('drop', () => log.warn('a connection was refused: too many are open', { limit: server.maxConnections }));

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve);
  }).catch((error: unknown) => {
    stop.abort();
    const code = (error as { code?: string }).code;
    if (code === 'EADDRINUSE') throw new PlatformError('PORT_IN_USE', { port: options.port }, error);
    if (code === 'EACCES') {
      throw new PlatformError(
        'INVALID_ARGUMENT',
        { field: 'port', value: options.port, limit: 'this user may not open it; ports from 1024 on are free to all' },
        error,
      );
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new PlatformError(
        'INVALID_ARGUMENT',
        { field: 'host', value: options.host, limit: 'it is no address of this machine' },
        error,
      );
    }
    throw error;
  });
  void closeSilent();
  void entrance?.watch(stop.signal);
  const { address, port } = server.address() as net.AddressInfo;

  return {
    address,
    port,
    renew: (pair) => secure?.setSecureContext({ cert: pair.cert, key: pair.key, minVersion: leastTls }),
    async close(limitMs) {
      stop.abort();
      const ended = new AbortController();
      server.close(() => ended.abort());
      for (const session of sessions) session.close();
      // Running calls may finish; connections without one close now.
      for (const start = clock.now(); !ended.signal.aborted; await clock.sleep(20, ended.signal)) {
        http1.closeIdleConnections();
        secure?.close();
        const isLate = clock.now() - start > limitMs;
        // Once everything is written, do not wait for the client to close.
        for (const socket of sockets) if (isLate || socket.writableFinished) socket.destroy();
      }
      http1.close();
    },
  };
}

function waitForMore(socket: net.Socket, than: number, then: () => void): void {
  const look = () => {
    if (socket.readableLength > than) then();
    else if (!socket.destroyed && !socket.readableEnded) socket.once('readable', look);
  };
  socket.once('readable', look);
}
