import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, errorFromJsonBytes, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { trailerFlag, trailerParse, trailerSerialize } from '@connectrpc/connect/protocol-grpc-web';
import { explained } from './errors.ts';

/**
 * The library rejects some requests before a call begins (an unreadable message, an unknown method) without a remedy.
 * This adds the row of the error table, in each of the three protocols.
 */
export function withReasons(handler: UniversalHandler): UniversalHandler {
  const where = `${handler.service.typeName}/${handler.method.name}`;
  const reason = (error: ConnectError): ConnectError => explained(error, where);
  const answer: Answer = async (request) => {
    const response = await handler(request);
    const type = response.header?.get('content-type') ?? '';
    if (type.startsWith('application/grpc-web')) return ofGrpcWeb(response, reason);
    if (type.startsWith('application/grpc')) return ofGrpc(response, reason);
    // Errors of the library are too short to be compressed, so a compressed response is not one of them.
    const isBare = response.status >= 400 && type === 'application/json' && !response.header?.has('content-encoding');
    return isBare ? ofConnect(response, reason) : response;
  };
  const { allowedMethods, method, protocolNames, requestPath, service, supportedContentType } = handler;
  return Object.assign(answer, { allowedMethods, method, protocolNames, requestPath, service, supportedContentType });
}

type Answer = (request: Parameters<UniversalHandler>[0]) => Promise<UniversalServerResponse>;
type Reason = (error: ConnectError) => ConnectError;

async function ofConnect(response: UniversalServerResponse, reason: Reason): Promise<UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) chunks.push(chunk);
  const fallback = new ConnectError('the call failed', Code.Unknown);
  const before = errorFromJsonBytes(Buffer.concat(chunks), undefined, fallback);
  const error = reason(before);
  if (error === before) return { ...response, body: all(chunks) };
  const bytes = errorToJsonBytes(error, undefined);
  response.header?.set('content-length', String(bytes.length));
  return { ...response, status: codeToHttpStatus(error.code), body: all([bytes]) };
}

function ofGrpc(response: UniversalServerResponse, reason: Reason): UniversalServerResponse {
  const { body, trailer } = response;
  if (!body || !trailer) return response;
  return { ...response, body: ending(body, () => giveReason(trailer, reason)) };
}

function ofGrpcWeb(response: UniversalServerResponse, reason: Reason): UniversalServerResponse {
  return response.body ? { ...response, body: webFrames(response.body, reason) } : response;
}

async function* webFrames(body: AsyncIterable<Uint8Array>, reason: Reason): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    // A compressed trailer carries another flag. It is long, so it has error details already.
    if (chunk[0] !== trailerFlag) {
      yield chunk;
      continue;
    }
    const trailer = trailerParse(chunk.subarray(frameHead));
    yield giveReason(trailer, reason) ? framed(trailerSerialize(trailer)) : chunk;
  }
}

const frameHead = 5;

function framed(trailer: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(frameHead + trailer.length);
  frame[0] = trailerFlag;
  frame.writeUInt32BE(trailer.length, 1);
  frame.set(trailer, frameHead);
  return frame;
}

/** @returns whether the trailer was changed. */
function giveReason(trailer: Headers, reason: Reason): boolean {
  const error = findTrailerError(trailer);
  if (!error || trailer.has('grpc-status-details-bin')) return false;
  setTrailerStatus(trailer, reason(error));
  return true;
}

async function* ending<T>(body: AsyncIterable<T>, atEnd: () => void): AsyncGenerator<T> {
  yield* body;
  atEnd();
}

async function* all(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
