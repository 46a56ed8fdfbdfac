import { readFileSync } from 'node:fs';
import net from 'node:net';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Unhandled } from '../process/unhandled.ts';
import type { CheckRequest, Reply } from './check.ts';
import type { Entrance } from './entrance.ts';
import { guarded, type HttpServers, httpServers, keepAliveMs, type TlsPair } from './http-servers.ts';
import { type PlainChecks, plainChecks } from './plain-checks.ts';
import type { Listener } from './request.ts';
import { stalledRequests } from './stalled-requests.ts';

export type PortOptions = {
  host: string;
  /** 0: any free port. */
  port: number;
  /** If set, the same port also accepts TLS. */
  tls?: TlsPair;
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
  renew(tls: TlsPair): void;
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
  const { clock, log, tls, entrance, unhandled } = options;
  if (!tls && !options.allowPlaintext && !isLoopback(options.host)) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'host',
      value: options.host,
      limit:
        'without a TLS certificate only this machine may connect: give --tls-cert and --tls-key, or say --allow-plaintext behind a TLS proxy',
    });
  }
  const stop = new AbortController();
  const stalled = stalledRequests(clock, options.nextByteMs ?? 120_000, stop.signal);
  const servers = httpServers(guarded(listener, { stalled, entrance, unhandled }), { tls, stalled, entrance, log });
  const silent = silentConnections(clock, options.firstByteMs ?? 10_000);
  const dispatch = dispatcher(servers, silent, options, stop.signal);
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true, pauseOnConnect: false }, (socket) => {
    if (entrance?.enter(socket) === false) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', (error) => {
      log.debug('a connection broke', { error: errorText(error) });
      socket.destroy();
    });
    silent.add(socket);
    dispatch(socket);
  });
  server.maxConnections = mostConnections();
  server.on('drop', () => log.warn('a connection was refused: too many are open', { limit: server.maxConnections }));
  await listen(server, options).catch((error: unknown) => {
    stop.abort();
    throw error;
  });
  void silent.closeLate(stop.signal);
  void entrance?.watch(stop.signal);
  const { address, port } = server.address() as net.AddressInfo;
  return {
    address,
    port,
    renew: (pair) => servers.renew(pair),
    close(limitMs) {
      stop.abort();
      return closeServers(server, servers, sockets, clock, limitMs);
    },
  };
}

/** Connections that have sent nothing. */
type SilentConnections = {
  add(socket: net.Socket): void;
  delete(socket: net.Socket): void;
  /** Closes those that stay silent. One timer serves all: 1,000 connections a second may arrive. */
  closeLate(stop: AbortSignal): Promise<void>;
};

function silentConnections(clock: Clock, firstByteMs: number): SilentConnections {
  const openedOn = new Map<net.Socket, number>();
  return {
    add(socket) {
      openedOn.set(socket, clock.now());
      socket.once('close', () => openedOn.delete(socket));
    },
    delete: (socket) => void openedOn.delete(socket),
    async closeLate(stop) {
      while (!stop.aborted) {
        await clock.sleep(Math.min(1_000, firstByteMs / 4), stop);
        const limit = clock.now() - firstByteMs;
        for (const [socket, since] of openedOn) if (since < limit) socket.destroy();
      }
    },
  };
}

/** @returns gives a connection to the server of its protocol, which its first bytes show. */
function dispatcher(
  { http1, h2c, secure }: HttpServers,
  silent: SilentConnections,
  options: PortOptions,
  stop: AbortSignal,
): (socket: net.Socket) => void {
  const { checks, entrance, clock } = options;
  const mayBePlain = (socket: net.Socket): boolean => options.allowPlaintext || isLoopback(socket.remoteAddress);
  const plain: PlainChecks | undefined =
    checks &&
    plainChecks({
      take: entrance?.checks(checks) ?? checks,
      other(socket, bytes) {
        socket.unshift(bytes);
        http1.emit('connection', socket);
      },
      clock,
      keepAliveMs,
      stop,
    });
  return (socket) => {
    const sniff = () => {
      const head = socket.read() as Buffer | null;
      if (!head) return void socket.once('readable', sniff);
      const found = speaks(head);
      if (found === 'http1' && plain && mayBePlain(socket) && options.isProxy?.(socket.remoteAddress) !== true) {
        const read = plain.take(socket, head);
        if (read === 'check') return silent.delete(socket);
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
  };
}

async function listen(server: net.Server, { host, port }: PortOptions): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen({ host, port, backlog: 4096 }, listening.resolve);
  await listening.promise.catch((error: unknown) => {
    const { code } = error as { code?: string };
    if (code === 'EADDRINUSE') throw new PlatformError('PORT_IN_USE', { port }, error);
    if (code === 'EACCES') {
      const limit = 'this user may not open it; ports from 1024 on are free to all';
      throw new PlatformError('INVALID_ARGUMENT', { field: 'port', value: port, limit }, error);
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      const limit = 'it is not an address of this host';
      throw new PlatformError('INVALID_ARGUMENT', { field: 'host', value: host, limit }, error);
    }
    throw error;
  });
}

/** Running calls may finish within the limit; connections without one close now. */
async function closeServers(
  server: net.Server,
  { http1, secure, sessions }: HttpServers,
  sockets: ReadonlySet<net.Socket>,
  clock: Clock,
  limitMs: number,
): Promise<void> {
  const ended = new AbortController();
  server.close(() => ended.abort());
  for (const session of sessions) session.close();
  for (const start = clock.now(); !ended.signal.aborted; await clock.sleep(20, ended.signal)) {
    http1.closeIdleConnections();
    secure?.close();
    const isLate = clock.now() - start > limitMs;
    // Once everything is written, do not wait for the client to close.
    for (const socket of sockets) if (isLate || socket.writableFinished) socket.destroy();
  }
  http1.close();
}

function waitForMore(socket: net.Socket, than: number, then: () => void): void {
  const check = () => {
    if (socket.readableLength > than) then();
    else if (!socket.destroyed && !socket.readableEnded) socket.once('readable', check);
  };
  socket.once('readable', check);
}
