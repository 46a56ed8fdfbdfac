import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';
import {
  type ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Interceptor,
} from '@connectrpc/connect';
import { compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node';
import type { Log } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { Authenticator } from '../access/authenticate.ts';
import type { CallerBudgets } from '../access/caller-budgets.ts';
import { cookiesFor } from '../access/session-cookie.ts';
import { identityGate } from './authentication.ts';
import { type Addresses, cameByKey, clientAddressKey, hostOf } from './base-url.ts';
import { errorInterceptor, toConnectError } from './errors.ts';
import { withReasons } from './explained.ts';
import { http2Stream } from './http2-stream.ts';
import type { MessageBudget } from './message-budget.ts';
import { largestMessage } from './message-limits.ts';
import { limitMessages } from './message-reader.ts';
import { ownPath, publicNameKey } from './public-name.ts';
import { isGrpc, refuseConnect, refuseGrpc } from './refusal.ts';
import type { Listener, Request, Response } from './request.ts';
import { requestIdHeader } from './request-ids.ts';
import type { ValueRate } from './value-rate.ts';

export type ListenerOptions = {
  routes: (router: ConnectRouter) => void;
  authenticator: Authenticator;
  budgets?: CallerBudgets;
  /** Answers a request from memory, or continues with `otherwise`. Undefined: it did nothing. */
  fast: (request: Request, response: Response, otherwise: () => void | Promise<void>) => Promise<void> | undefined;
  /** Handles every request that is not an RPC. */
  pages: Listener;
  budget: MessageBudget;
  rate: ValueRate;
  /** Called when the caller of a request is authenticated. */
  prove: (request: Request, callerId: string) => void;
  addresses: Addresses;
  /** Called with each request that is not answered from memory. @param method - path of a call; else undefined. */
  observe?: (response: Response, method: string | undefined) => void;
  /** ID of the request that is being handled, for its errors. */
  requestId: () => string | undefined;
  log: Log;
};

const signIn = `/${AuthService.typeName}/${AuthService.method.authenticate.name}`;
/**
 * A handler that stops reading half-way would destroy the request. The rest of the body would block the next request on
 * the connection. With this iterator the rest is read and discarded once the response is sent.
 */
const keepWhole = (request: Request): void =>
  void Object.assign(request, { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) });
const requestKey = createContextKey<Request | undefined>(undefined, { description: 'the request behind a call' });

/** Marks the caller that Authenticate gave a token as authenticated. */
const authenticated =
  (prove: (values: ContextValues, callerId: string) => void): Interceptor =>
  (next) =>
  async (request) => {
    const response = await next(request);
    const message = request.message as { entity?: string };
    if (request.service.typeName === AuthService.typeName) prove(request.contextValues, message.entity ?? '');
    return response;
  };

const pathOf = ({ url = '' }: Request): string => url.split('?', 1)[0] ?? '';
const isSecure = (request: Request): boolean => (request.socket as Partial<TLSSocket>).encrypted === true;

/** Wrong bytes in JSON are refused; the library's usual decoder destroys the letter. */
const strictJson = { ignoreUnknownFields: true, textDecoder: new TextDecoder('utf-8', { fatal: true }) };

/** @param publicNames - requests that used a method's public name. @returns the handler and the paths of the methods. */
function rpcHandler(options: ListenerOptions, publicNames: WeakSet<Request>) {
  const prove = (values: ContextValues, callerId: string): void => {
    const request = values.get(requestKey);
    if (request) options.prove(request, callerId);
  };
  const paths = new Set<string>();
  const limited = limitMessages(options.budget, options.rate, options.budgets);
  const handle = connectNodeAdapter({
    routes: (router) => {
      options.routes(router);
      router.handlers.splice(0, Infinity, ...router.handlers.map((handler) => withReasons(limited(handler))));
      for (const { requestPath } of router.handlers) paths.add(requestPath);
    },
    requestGate: identityGate(options.authenticator, options.log, prove, options.budgets, options.requestId),
    interceptors: [errorInterceptor(options.log, options.requestId), authenticated(prove)],
    acceptCompression: [compressionGzip],
    contextValues: (request) =>
      createContextValues()
        .set(requestKey, request as Request)
        .set(publicNameKey, publicNames.has(request as Request))
        .set(cameByKey, options.addresses.cameBy(request as Request))
        .set(clientAddressKey, options.addresses.clientOf(request as Request)),
    // Each method has a lower limit of its own in `message-limits.ts`.
    readMaxBytes: largestMessage,
    jsonOptions: strictJson,
  });
  return { handle, paths };
}

/** Serves RPC under both names, the fast path, and plain HTTP for everything else. */
export function rpcListener(options: ListenerOptions): Listener {
  const publicNames = new WeakSet<Request>();
  const rpc = rpcHandler(options, publicNames);
  /** The host as the client names it. Some proxies send a Host of their own, so the public URL's origin counts, too. */
  const namedHost = (request: Request): string => {
    const publicUrl = options.addresses.publicUrl();
    if (publicUrl !== undefined && request.headers.origin === publicUrl) return new URL(publicUrl).host;
    return options.addresses.cameBy(request).host;
  };
  /** Handles requests for paths that are not a method. */
  const other = (request: Request, response: Response): void | Promise<void> => {
    if (isGrpc(request)) return refuseGrpc(request, response, noMethod(request));
    if (isConnect(request)) return refuseConnect(request, response, noMethod(request));
    return options.pages(request, response);
  };
  return (request, response) => {
    // Health checks of load balancers use HTTP/1.0, which has no Host.
    if (request.httpVersion === '1.0' && request.method === 'GET') request.headers.host ??= 'localhost';
    if (!hasReadableUrl(request)) {
      if (request.httpVersionMajor === 1) response.shouldKeepAlive = false;
      response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' });
      return void response.end('the host or the path is malformed\n');
    }
    // The origin check of cookies compares with this header in all protocols.
    request.headers.host = namedHost(request);
    const { cookie } = request.headers;
    if (cookie !== undefined) request.headers.cookie = cookiesFor(cookie, options.addresses.cameBy(request).isSecure);
    const own = ownPath(request.url ?? '');
    if (own !== undefined) {
      request.url = own;
      publicNames.add(request);
    }
    // Close it: a connection that carried a sign-in would take ten times the memory of one that carries only checks.
    if (request.url === signIn && request.httpVersionMajor === 1 && !isSecure(request))
      response.shouldKeepAlive = false;
    if (request.headers.origin !== undefined && crossOrigin(request, response)) return;
    const next = (): void | Promise<void> => {
      freeSender(http2Stream(response));
      if (request.httpVersionMajor === 1) keepWhole(request);
      const path = pathOf(request);
      const isCall = rpc.paths.has(path);
      options.observe?.(response, isCall ? path : undefined);
      if (!isCall) return other(request, response);
      return rpc.handle(request, response);
    };
    return options.fast(request, response, next) ?? next();
  };
}

/** The library makes a URL of host and path, and throws if that fails. */
function hasReadableUrl(request: Request): boolean {
  // RFC 9112: a proxy may have used another one of several hosts.
  if (countHosts(request) > 1) return false;
  const authority = hostOf(request);
  const { url = '' } = request;
  return authority !== undefined && URL.canParse(url.startsWith('/') ? `http://${authority}${url}` : url);
}

/** Node keeps the first of several Host headers. */
const countHosts = ({ rawHeaders }: Request): number =>
  rawHeaders.reduce((count, name, place) => count + Number(place % 2 === 0 && name.toLowerCase() === 'host'), 0);

const allowedHeaders =
  'authorization, content-type, connect-protocol-version, connect-timeout-ms, grpc-timeout, viam_client, platform_client, x-grpc-web, x-user-agent, key_id, key';

/** Any origin may call with a token; none may use our cookie. @returns true: the preflight is answered. */
function crossOrigin(request: Request, response: Response): boolean {
  response.setHeader('access-control-allow-origin', String(request.headers.origin));
  response.setHeader('vary', 'origin');
  response.setHeader(
    'access-control-expose-headers',
    `grpc-status, grpc-message, grpc-status-details-bin, content-encoding, connect-content-encoding, ${requestIdHeader}`,
  );
  if (request.method !== 'OPTIONS') return false;
  response.setHeader('access-control-allow-methods', 'GET, HEAD, POST, PUT, OPTIONS');
  response.setHeader(
    'access-control-allow-headers',
    String(request.headers['access-control-request-headers'] ?? allowedHeaders),
  );
  response.setHeader('access-control-max-age', '7200');
  response.writeHead(204);
  response.end();
  return true;
}

/** Unary calls need no header of the protocol: curl sends the path of a method and JSON. */
const isConnect = (request: Request): boolean =>
  request.headers['connect-protocol-version'] !== undefined ||
  (request.method === 'POST' && /^\/(?:\w+\.)+\w+\/\w+$/.test(pathOf(request)));

const noMethod = (request: Request): ConnectError =>
  toConnectError(new PlatformError('UNKNOWN_METHOD', { method: pathOf(request).slice(1, 200) }));

/**
 * An error response before the end of the request would leave an HTTP/2 client waiting for flow control. So the stream
 * is reset with NO_ERROR after the trailers. ("finish" of the compatibility response comes too late.)
 */
function freeSender(stream: http2.ServerHttp2Stream | undefined): void {
  stream?.once('wantTrailers', () =>
    setImmediate(() => {
      if (!stream.readableEnded && !stream.destroyed) stream.close(http2.constants.NGHTTP2_NO_ERROR);
    }),
  );
}
