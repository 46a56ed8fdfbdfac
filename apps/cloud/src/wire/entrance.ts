import type http2 from 'node:http2';
import type net from 'node:net';
import { clientAddress, type TrustedProxies } from './addresses.ts';
import type { CheckRequest, Reply } from './check.ts';
import { http2Stream } from './http2-stream.ts';
import type { Request, Response } from './request.ts';
import type { SentAnswer, Visitor, Visitors } from './visitors.ts';

/** Admission of clients and their authentication: by connection, and behind a proxy by request. */
export type Entrance = {
  /** @returns false: the limit of connections is reached. */
  enter(socket: net.Socket): boolean;
  /** Links a connection to what carries its requests: a TLS socket or an HTTP/2 session. */
  follow(speaker: object, socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): void;
  /** @returns false: the limit is reached, and the request was closed. */
  admit(request: Request, response: Response): boolean;
  /** Wraps the handler of config checks for connections that carry only config checks. */
  checks(take: TakeCheck): (request: CheckRequest, reply: Reply, socket: net.Socket) => boolean;
  prove(request: Request, callerId: string): void;
  watch(stop: AbortSignal): Promise<void>;
};

type TakeCheck = (request: CheckRequest, reply: Reply) => boolean;

const isComplete = (request: Request): boolean => request.complete || request.readableEnded;

/** HTTP/2 counts the bytes of the whole connection: a client that reads one stream may delay another one. */
function sentAnswer(request: Request, response: Response): SentAnswer {
  const stream = http2Stream(response);
  const { socket } = request;
  return {
    isUnread: () => response.headersSent && (stream ?? response).writableLength > 0,
    takenBytes: () => socket.bytesWritten - (stream ? 0 : socket.writableLength),
  };
}

/** A proxy's connection carries requests of many clients; each request is a visitor of its own. */
function enterRequest(visitors: Visitors, address: string, request: Request, response: Response): Visitor | undefined {
  const end = (): void => {
    const stream = http2Stream(response);
    if (stream) stream.close();
    else request.socket.destroy();
  };
  const visitor = visitors.enter(address, end);
  if (visitor) response.once('close', () => visitor.leave());
  return visitor;
}

function takeFrom(visitor: Visitor, take: TakeCheck, request: CheckRequest, reply: Reply): boolean {
  reply.proven = (callerId) => visitor.prove(callerId);
  if (visitor.isProven) return take(request, reply);
  const done = visitor.busy(() => true);
  reply.onEnd(done);
  const isTaken = take(request, reply);
  if (!isTaken) done();
  return isTaken;
}

export function openEntrance(visitors: Visitors, isTrusted: TrustedProxies): Entrance {
  const bySpeaker = new WeakMap<object, Visitor>();
  const byRequest = new WeakMap<Request, Visitor>();
  /** Connections whose protocol is not known yet. */
  const byPeer = new Map<string, Visitor>();
  const peerOf = (socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string =>
    `${socket.remoteAddress} ${socket.remotePort}`;
  const visitorOf = (request: Request): Visitor | undefined => {
    const { stream } = request as { stream?: http2.ServerHttp2Stream };
    return byRequest.get(request) ?? bySpeaker.get(stream?.session ?? request.socket);
  };
  return {
    enter(socket) {
      const { remoteAddress = '' } = socket;
      if (isTrusted(remoteAddress)) return true;
      const visitor = visitors.enter(remoteAddress, () => socket.destroy());
      if (!visitor) return false;
      const peer = peerOf(socket);
      bySpeaker.set(socket, visitor);
      byPeer.set(peer, visitor);
      socket.once('close', () => {
        visitor.leave();
        if (byPeer.get(peer) === visitor) byPeer.delete(peer);
      });
      return true;
    },
    follow(speaker, socket) {
      const visitor = byPeer.get(peerOf(socket));
      if (visitor) bySpeaker.set(speaker, visitor);
    },
    admit(request, response) {
      if (isTrusted(request.socket.remoteAddress)) {
        const { remoteAddress = '' } = request.socket;
        const forwarded = String(request.headers['x-forwarded-for'] ?? '');
        const visitor = enterRequest(visitors, clientAddress(remoteAddress, forwarded, isTrusted), request, response);
        if (!visitor) {
          response.statusCode = 429;
          response.setHeader('retry-after', '2');
          response.end();
          return false;
        }
        byRequest.set(request, visitor);
      }
      const visitor = visitorOf(request);
      if (visitor && !visitor.isProven)
        response.once(
          'close',
          visitor.busy(() => isComplete(request), sentAnswer(request, response)),
        );
      return true;
    },
    checks: (take) => (request, reply, socket) => {
      const visitor = bySpeaker.get(socket);
      return visitor ? takeFrom(visitor, take, request, reply) : take(request, reply);
    },
    prove: (request, callerId) => visitorOf(request)?.prove(callerId),
    watch: (stop) => visitors.watch(stop),
  };
}
