import type { ConnectError } from '@connectrpc/connect';
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import type { PlatformError } from '@platform/contract/errors/errors';
import type { Reply } from './check.ts';
import { toConnectError } from './errors.ts';
import { http2Stream } from './http2-stream.ts';
import type { Request, Response } from './request.ts';

export const isGrpc = ({ headers }: Request): boolean =>
  String(headers['content-type'] ?? '').startsWith('application/grpc');

/**
 * gRPC clients require HTTP 200 and the status in one frame that also ends the stream. Otherwise they see no status.
 */
export function refuseGrpc(request: Request, response: Response, error: ConnectError): void {
  const trailer = new Headers();
  setTrailerStatus(trailer, error);
  const headers = { 'content-type': String(request.headers['content-type']), ...Object.fromEntries(trailer) };
  const stream = http2Stream(response);
  if (stream) {
    stream.respond({ ':status': 200, ...headers }, { endStream: true });
    return;
  }
  response.writeHead(200, headers);
  response.end();
}

const streamType = /^application\/connect\+(?:json|proto)\b/;
const endOfStream = 0b10;

/** A unary call gets the status of the error; a stream has status 200 and ends with a frame that holds the error. */
export function refuseConnect(
  request: Request,
  response: Response,
  error: ConnectError,
  headers: Record<string, string> = {},
): void {
  const json = errorToJsonBytes(error, undefined);
  const [type] = streamType.exec(request.headers['content-type'] ?? '') ?? [];
  const status = type === undefined ? codeToHttpStatus(error.code) : 200;
  response.writeHead(status, { 'content-type': type ?? 'application/json', ...headers });
  if (type === undefined) return void response.end(json);
  const end = Buffer.concat([Buffer.from('{"error":'), json, Buffer.from('}')]);
  const head = Buffer.alloc(5);
  head.writeUInt8(endOfStream);
  head.writeUInt32BE(end.length, 1);
  response.end(Buffer.concat([head, end]));
}

/** Refuses a request before anything of it is read. Pages get the same JSON as calls. */
export function refuseCall(request: Request, response: Response, error: PlatformError): void {
  const found = toConnectError(error);
  // The body is not read, so the next request of an HTTP/1 connection could not be, either.
  if (request.httpVersionMajor === 1) response.shouldKeepAlive = false;
  if (isGrpc(request)) refuseGrpc(request, response, found);
  else refuseConnect(request, response, found, Object.fromEntries(found.metadata));
}

export function refuseCheck(reply: Reply, error: PlatformError): void {
  const found = toConnectError(error);
  const headers = ['content-type', 'application/json', ...[...found.metadata].flat()];
  reply.send(codeToHttpStatus(found.code), headers, errorToJsonBytes(found, undefined));
}
