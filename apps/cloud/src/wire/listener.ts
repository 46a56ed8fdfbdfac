import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ConnectError, ConnectRouter } from '@connectrpc/connect';
import { errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node';
import type { Log } from '@platform/kit';
import type { Authenticator } from '../auth/authenticate.ts';
import { authenticationInterceptor } from './authentication.ts';
import { PlatformError } from '@platform/contract/errors';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { errorInterceptor, messageLimitBytes, toConnectError } from './errors.ts';
import { withReasons } from './explained.ts';
import { http2Stream, type Listener, type Request, type Response } from './mux.ts';

export type ListenerOptions = {
  routes: (router: ConnectRouter) => void;
  authenticator: Authenticator;
  /** Answers what it can answer from memory. True: it answers, or goes on with `next` itself. */
  fast: (request: Request, response: Response, next: () => void) => boolean;
  /** Everything that is no RPC. */
  pages: Listener;
  log: Log;
};

const signIn = `/${AuthService.typeName}/${AuthService.method.authenticate.name}`;
const isSecure = (request: Request): boolean => (request.socket as Partial<TLSSocket>).encrypted === true;

/** RPC under both names, the fast path, and plain HTTP behind them. */
export function rpcListener(options: ListenerOptions): Listener {
  const rpc = connectNodeAdapter({
    routes: (router) => {
      options.routes(router);
      router.handlers.splice(0, Infinity, ...router.handlers.map(withReasons));
    },
    interceptors: [errorInterceptor(options.log), authenticationInterceptor(options.authenticator)],
    acceptCompression: [compressionGzip],
    readMaxBytes: messageLimitBytes,
    fallback: (asked, answered) => {
      const [request, response] = [asked as Request, answered as Response];
      if (String(request.headers['content-type'] ?? '').startsWith('application/grpc'))
        return unknownMethod(request, response);
      if (request.headers['connect-protocol-version'] !== undefined) return unknownConnectMethod(request, response);
      options.pages(request, response);
    },
  });
  return (request, response) => {
    // Bodies carry no package names, so the other name is a matter of the path alone.
    if (request.url?.startsWith('/viam.')) request.url = `/platform.${request.url.slice('/viam.'.length)}`;
    // The connection that a machine signs in by would be kept for its checks, at ten times the memory of one that only checks.
    if (request.url === signIn && request.httpVersionMajor === 1 && !isSecure(request))
      response.shouldKeepAlive = false;
    if (request.headers.origin !== undefined && crossOrigin(request, response)) return;
    const next = (): void => {
      freeSender(http2Stream(response));
      rpc(request, response);
    };
    if (!options.fast(request, response, next)) next();
  };
}

const allowedHeaders =
  'authorization, content-type, connect-protocol-version, connect-timeout-ms, grpc-timeout, viam_client, platform_client, x-grpc-web, x-user-agent, key_id, key';

/** Any page may call with a token; none gets to use our cookie. True: the preflight is answered. */
function crossOrigin(request: Request, response: Response): boolean {
  response.setHeader('access-control-allow-origin', String(request.headers.origin));
  response.setHeader('vary', 'origin');
  response.setHeader(
    'access-control-expose-headers',
    'grpc-status, grpc-message, grpc-status-details-bin, content-encoding, connect-content-encoding',
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

/** gRPC clients want HTTP 200 and the status in one frame that also ends the stream; else they see no status. */
function unknownMethod(request: Request, response: Response): void {
  const trailer = new Headers();
  setTrailerStatus(trailer, noMethod(request));
  const headers = { 'content-type': String(request.headers['content-type']), ...Object.fromEntries(trailer) };
  const stream = http2Stream(response);
  if (stream) {
    stream.respond({ ':status': 200, ...headers }, { endStream: true });
    return;
  }
  response.writeHead(200, headers);
  response.end();
}

function unknownConnectMethod(request: Request, response: Response): void {
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(errorToJsonBytes(noMethod(request), undefined));
}

const noMethod = ({ url = '' }: Request): ConnectError =>
  toConnectError(new PlatformError('UNSUPPORTED', { what: `the method ${url.slice(1, 200)}` }));

/**
 * An error answered before the request was read to its end would leave an HTTP/2 client waiting for flow control for ever:
 * after the trailers, the stream is reset without an error. ("finish" of the compatibility response comes too late.)
 */
function freeSender(stream: http2.ServerHttp2Stream | undefined): void {
  stream?.once('wantTrailers', () =>
    setImmediate(() => {
      if (!stream.readableEnded && !stream.destroyed) stream.close(http2.constants.NGHTTP2_NO_ERROR);
    }),
  );
}
