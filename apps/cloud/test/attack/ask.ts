import { gunzipSync } from 'node:zlib';
import http from 'node:http';
import { type DescMethod, fromBinary, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';

export type Headers = Readonly<Record<string, string>>;
export type WireResponse = { status: number; headers: http.IncomingHttpHeaders; bytes: Buffer };
export type WireRequest = { method: string; path: string; headers: Headers; body?: Uint8Array | string };

/** Keep-alive connections to one server. */
export type Wire = Disposable & {
  /** Returns the whole answer, or the first message of an open stream. */
  send(request: WireRequest): Promise<WireResponse>;
};

const limitMs = 30_000;

export function wireTo(url: string): Wire {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  const once = ({ method, path, headers, body }: WireRequest): Promise<WireResponse> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const options = { agent, hostname, port, method, path, headers, timeout: limitMs, insecureHTTPParser: false };
      const request = http.request(options, (response) => {
        const chunks: Buffer[] = [];
        const done = (): void =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) });
        const isStream = /^application\/(connect\+|grpc)/.test(String(response.headers['content-type']));
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (!isStream || !hasMessage(Buffer.concat(chunks))) return;
          done();
          request.destroy();
        });
        response.on('end', done);
        response.on('error', done);
      });
      request.on('timeout', () => request.destroy(new Error(`no answer in ${limitMs} ms: ${method} ${path}`)));
      request.on('error', reject);
      request.end(body);
    });
  return {
    // The server may close a kept connection at the moment a request begins.
    send: (request) =>
      once(request).catch((error: unknown) => {
        if ((error as { code?: string }).code === 'ECONNRESET') return once(request);
        throw error;
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const frameHead = 5;
const isLast = 2;
const isCompressed = 1;

const hasMessage = (bytes: Buffer): boolean =>
  bytes.length >= frameHead && bytes.length >= frameHead + bytes.readUInt32BE(1);

export function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHead);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Unary calls send bare messages; streams send frames. */
const typeOf = (method: DescMethod): string =>
  method.methodKind === 'unary' ? 'application/proto' : 'application/connect+proto';

export const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** Builds the request of a call; several messages form a client stream. */
export function callOf(method: DescMethod, messages: readonly JsonObject[], headers: Headers): WireRequest {
  const bytes = messages.map((message) => toBinary(method.input, fromJson(method.input, message)));
  const isUnary = method.methodKind === 'unary';
  const body = isUnary ? Buffer.from(bytes[0] ?? []) : Buffer.concat(bytes.map(framed));
  const type = { 'content-type': typeOf(method), 'content-length': String(body.length) };
  return { method: 'POST', path: pathOf(method), headers: { ...type, ...headers }, body };
}

export type Outcome = {
  /** `ok`, or the status of the call, for example `permission_denied`. */
  code: string;
  /** Code from the error table. */
  row: string;
  bytes: Buffer;
};

/** Decodes the outcome of a call. */
export function outcomeOf({ status, headers, bytes }: WireResponse): Outcome {
  const isStream = String(headers['content-type']).startsWith('application/connect+');
  if (isStream) {
    const isEnd = ((bytes[0] ?? 0) & isLast) !== 0;
    if (!isEnd) return { code: 'ok', row: '', bytes };
    const content = bytes.subarray(frameHead);
    const isPacked = ((bytes[0] ?? 0) & isCompressed) !== 0;
    const end = JSON.parse((isPacked ? gunzipSync(content) : content).toString()) as { error?: Failure };
    return end.error ? failed(end.error, bytes) : { code: 'ok', row: '', bytes };
  }
  if (isGrpc(headers)) return ofGrpc(headers, bytes);
  if (status === 200) return { code: 'ok', row: '', bytes };
  try {
    return failed(JSON.parse(bytes.toString()) as Failure, bytes);
  } catch {
    return { code: `HTTP ${status}`, row: '', bytes };
  }
}

const isGrpc = (headers: http.IncomingHttpHeaders): boolean =>
  String(headers['content-type']).startsWith('application/grpc');

/** gRPC-Web puts the status into the last frame, or into the headers of an answer without frames. */
function ofGrpc(headers: http.IncomingHttpHeaders, bytes: Buffer): Outcome {
  const text = String(headers['content-type']).includes('text') ? Buffer.from(bytes.toString(), 'base64') : bytes;
  const status = headers['grpc-status'] ?? /grpc-status: ?(\d+)/.exec(text.toString('latin1'))?.[1] ?? '0';
  const words: Readonly<Record<string, string>> = { 0: 'ok', 2: 'unknown', 13: 'internal', 14: 'unavailable' };
  return { code: words[String(status)] ?? `status ${String(status)}`, row: '', bytes };
}

type Failure = { code: string; details?: { type: string; value: string }[] };

function failed({ code, details = [] }: Failure, bytes: Buffer): Outcome {
  const info = details.find(({ type }) => type === 'google.rpc.ErrorInfo');
  const row = info ? fromBinary(ErrorInfoSchema, Buffer.from(info.value, 'base64')).reason : '';
  return { code, row, bytes };
}

const ofStatus: Readonly<Record<number, string>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
};

/** Decodes the outcome of a page request. */
export function pageOutcome({ status, headers, bytes }: WireResponse): Outcome {
  if (status < 400) return { code: 'ok', row: '', bytes };
  // HEAD answers have no body; only a lost lease has this status.
  if (status === 409 && bytes.length === 0) return { code: 'aborted', row: 'LEASE_LOST', bytes };
  const isJson = headers['content-type'] === 'application/json' && bytes.length > 0;
  const row = isJson ? (JSON.parse(bytes.toString()) as { code: string }).code : '';
  return { code: ofStatus[status] ?? `HTTP ${status}`, row, bytes };
}
