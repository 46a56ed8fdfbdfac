import type http2 from 'node:http2';
import type net from 'node:net';
import { clientAddress, type TrustedProxies } from './addresses.ts';
import type { CheckRequest, Reply } from './check.ts';
import { http2Stream } from './http2-stream.ts';
import type { Request, Response } from './request.ts';
import type { SentAnswer, Visitor, Visitors } from './visitors.ts';

/** Who may connect, and who has proved who they are: as connections, and behind a proxy as requests. */
export type Entrance = {
  /** @returns false: there is no room for this connection. */
  enter(socket: net.Socket): boolean;
  /** What speaks on a connection: a TLS socket or an HTTP/2 session. */
  follow(speaker: object, socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): void;
  /** @returns false: there is no room for this request, and it was ended. */
  admit(request: Request, response: Response): boolean;
  /** Config checks of connections that say nothing else. */
  checks(take: TakeCheck): (request: CheckRequest, reply: Reply, socket: net.Socket) => boolean;
  prove(request: Request, callerId: string): void;
  watch(stop: AbortSignal): Promise<void>;
};

type TakeCheck = (request: CheckRequest, reply: Reply) => boolean;

const isComplete = (request: Request): boolean => request.complete || request.readableEnded;

/** Over HTTP/2 the bytes are those of the whole connection: a client that reads one stream may let another one wait. */
function sentAnswer(request: Request, response: Response): SentAnswer {
  const stream = http2Stream(response);
  const { socket } = request;
  return {
    isUnread: () => response.headersSent && (stream ?? response).writableLength > 0,
    takenBytes: () => socket.bytesWritten - (stream ? 0 : socket.writableLength),
  };
}

export function openEntrance(visitors: Visitors, isTrusted: TrustedProxies): Entrance {
  const bySpeaker = new WeakMap<object, Visitor>();
  const byRequest = new WeakMap<Request, Visitor>();
  /** Until it is known what speaks on it. */
  const byPeer = new Map<string, Visitor>();
  const peerOf = (socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string =>
    `${socket.remoteAddress} ${socket.remotePort}`;
  const visitorOf = (request: Request): Visitor | undefined => {
    const { stream } = request as { stream?: http2.ServerHttp2Stream };
    return byRequest.get(request) ?? bySpeaker.get(stream?.session ?? request.socket);
  };
  /** A connection of a proxy carries the requests of many; each is a visitor of its own. */
  const enterRequest = (request: Request, response: Response): Visitor | undefined => {
    const forwarded = String(request.headers['x-forwarded-for'] ?? '');
    const end = (): void => {
      const stream = http2Stream(response);
      if (stream) stream.close();
      else request.socket.destroy();
    };
    const visitor = visitors.enter(clientAddress(request.socket.remoteAddress ?? '', forwarded, isTrusted), end);
    if (visitor) response.once('close', () => visitor.leave());
    return visitor;
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
        const visitor = enterRequest(request, response);
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
      if (!visitor) return take(request, reply);
      reply.proven = (callerId) => visitor.prove(callerId);
      if (visitor.isProven) return take(request, reply);
      const done = visitor.busy(() => true);
      reply.onEnd(done);
      const isTaken = take(request, reply);
      if (!isTaken) done();
      return isTaken;
    },
    prove: (request, callerId) => visitorOf(request)?.prove(callerId),
    watch: (stop) => visitors.watch(stop),
  };
}
