import type http2 from 'node:http2';
import type net from 'node:net';
import { PlatformError } from '@platform/contract/errors/errors';
import { clientAddress, isLoopbackAddress, networksOf } from './addresses.ts';
import { admission, type EntranceDeps, payerFrom, type TakeCheck, takeChecks } from './admission.ts';
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
  /** Links a stream to its session, which it no longer names when the session has ended. */
  followStream(stream: object, session: object): void;
  /** Handles the request when it is its turn, or refuses it: a limit is reached. */
  admit(request: Request, response: Response, handle: () => void): void;
  /** Wraps the handler of config checks for connections that carry only config checks. */
  checks(take: TakeCheck): (request: CheckRequest, reply: Reply, socket: net.Socket) => boolean;
  prove(request: Request, callerId: string): void;
  watch(stop: AbortSignal): Promise<void>;
};

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

type Peer = { remoteAddress?: string | undefined; remotePort?: number | undefined };

const peerOf = ({ remoteAddress, remotePort }: Peer): string => `${remoteAddress} ${remotePort}`;

/** The visitors of connections, found by what carries their requests. */
function knownConnections() {
  const bySpeaker = new WeakMap<object, Visitor>();
  /** Connections whose protocol is not known yet. */
  const byPeer = new Map<string, Visitor>();
  const link = (speaker: object, visitor: Visitor | undefined): void => {
    if (visitor) bySpeaker.set(speaker, visitor);
  };
  return {
    of: (speaker: object) => bySpeaker.get(speaker),
    /** Through a proxy, each request is linked itself. */
    ofRequest(request: Request): Visitor | undefined {
      const { stream } = request as { stream?: http2.ServerHttp2Stream };
      return bySpeaker.get(request) ?? bySpeaker.get(stream ?? request.socket);
    },
    link,
    linkByPeer: (speaker: object, socket: Peer) => link(speaker, byPeer.get(peerOf(socket))),
    /** @param left - called when the connection is closed. */
    add(socket: net.Socket, visitor: Visitor, left: () => void): void {
      const peer = peerOf(socket);
      bySpeaker.set(socket, visitor);
      byPeer.set(peer, visitor);
      socket.once('close', () => {
        left();
        if (byPeer.get(peer) === visitor) byPeer.delete(peer);
      });
    },
  };
}

/** A connection that ends without a request, such as half a TLS handshake, costs as much as a call. */
function chargeSilent({ calls }: EntranceDeps, visitor: Visitor, payerOf: ReturnType<typeof payerFrom>): void {
  const payer = visitor.isProven ? undefined : payerOf(visitor, undefined);
  const call = payer && calls.begin(payer);
  if (call && !(call instanceof PlatformError)) call.end();
}

/** Whether an address goes on although it is refused. Where a caller is known, its connections may have one, too. */
const isDeaf = (visitors: Visitors, { calls }: EntranceDeps, address: string): boolean =>
  !isLoopbackAddress(address) && !visitors.isKnown(address) && calls.isDeaf({ keys: networksOf(address), share: 1 });

export function openEntrance(visitors: Visitors, deps: EntranceDeps): Entrance {
  const { isTrusted } = deps;
  const connections = knownConnections();
  /** Visitors that sent a request. */
  const called = new WeakSet<Visitor>();
  const payerOf = payerFrom(visitors, deps);
  const admitted = admission(deps, payerOf);
  const enterByProxy = (request: Request, response: Response): Visitor | undefined => {
    const { remoteAddress = '' } = request.socket;
    const forwarded = String(request.headers['x-forwarded-for'] ?? '');
    const visitor = enterRequest(visitors, clientAddress(remoteAddress, forwarded, isTrusted), request, response);
    connections.link(request, visitor);
    return visitor;
  };
  return {
    enter(socket) {
      const { remoteAddress = '' } = socket;
      if (isTrusted(remoteAddress)) return true;
      if (isDeaf(visitors, deps, remoteAddress)) return false;
      const visitor = visitors.enter(remoteAddress, () => socket.destroy());
      if (!visitor) return false;
      connections.add(socket, visitor, () => {
        visitor.leave();
        if (!called.has(visitor)) chargeSilent(deps, visitor, payerOf);
      });
      return true;
    },
    follow: connections.linkByPeer,
    followStream: (stream, session) => connections.link(stream, connections.of(session)),
    admit(request, response, handle) {
      const direct = connections.ofRequest(request);
      // An ended HTTP/2 session has no socket.
      const isProxied = !direct && isTrusted(request.socket?.remoteAddress);
      const visitor = isProxied ? enterByProxy(request, response) : direct;
      if (!visitor) return isProxied ? void response.writeHead(429, { 'retry-after': '2' }).end() : handle();
      called.add(visitor);
      if (!visitor.isProven)
        response.once(
          'close',
          visitor.busy(() => isComplete(request), sentAnswer(request, response)),
        );
      admitted.admit({ request, response, visitor, canClose: !isProxied }, handle);
    },
    checks: (take) => {
      const from = takeChecks(take, deps, payerOf);
      return (request, reply, socket) => {
        const visitor = connections.of(socket);
        if (visitor) called.add(visitor);
        return visitor ? from(visitor, request, reply) : take(request, reply);
      };
    },
    prove(request, callerId) {
      admitted.prove(request);
      connections.ofRequest(request)?.prove(callerId);
    },
    watch: (stop) => visitors.watch(stop),
  };
}
