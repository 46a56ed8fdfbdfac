import { pipeline } from 'node:stream/promises';
import { errorInfoOf, errorTable, httpStatusOf, PlatformError } from '@platform/contract/errors/errors';
import type { Log } from '@platform/kit';
import type { Authenticator } from '../access/authenticate.ts';
import { announcedBytes, type CallerBudgets, chargeBeyond, type Payer } from '../access/caller-budgets.ts';
import type { AttemptCaller, Caller } from '../access/rules/permissions.ts';
import type { BlobStore, Range } from '../blobs/blob-store.ts';
import { isSameOrigin } from './authentication.ts';
import { publicError } from './errors.ts';
import type { Listener, Request, Response } from './request.ts';

/** One plain HTTP request and its response. */
export type Exchange = {
  request: Request;
  response: Response;
  url: URL;
  /**
   * The caller of the request, which must not be an attempt of a job.
   *
   * @throws PlatformError NOT_AUTHENTICATED, INVALID_CREDENTIALS, TOKEN_EXPIRED, PERMISSION_DENIED, BUDGET_EXCEEDED
   */
  caller(): Promise<Exclude<Caller, AttemptCaller>>;
  /** Any caller, attempts of jobs included. Throws like `caller`. */
  callerOrAttempt(): Promise<Caller>;
  /**
   * Admits a request by a signed link, charged to the link budget of its signer. @throws PlatformError BUDGET_EXCEEDED
   */
  admitLink(signer: string): void;
  /** The caller is authenticated by other means, such as a set-up code. */
  prove(callerId: string): void;
  /** The body of the request. The caller's budget pays for bytes that its headers did not announce. */
  body(): AsyncIterable<Uint8Array>;
  /** Reads and discards the rest of the body. */
  drain(): void;
  /** Charges the caller for bytes of a file that it read. */
  chargeSent(bytes: number): void;
};

export type Route = {
  methods: readonly ('GET' | 'HEAD' | 'PUT' | 'POST')[];
  /** Matched against the path, without the query. */
  path: RegExp;
  /** Gets the groups of `path`, decoded. Errors become a JSON response. */
  answer(exchange: Exchange, groups: readonly string[]): Promise<void>;
};

const securityHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export type HttpOptions = {
  authenticator: Authenticator;
  /** Each authenticated request counts as a call of its caller; its bytes count in both directions. */
  budgets?: Pick<CallerBudgets, 'admit' | 'chargeBytes'>;
  /** Called when the caller of a request is authenticated. */
  prove?: (request: Request, callerId: string) => void;
  /** Whether browsers that sent this request must use TLS from now on (HSTS). */
  isStrictTransport?: (request: Request) => boolean;
  /** ID of the request that is being handled, for its errors. */
  requestId?: () => string | undefined;
  log: Log;
};

/** Uses the first route that matches; the last one should match everything. */
export function httpListener(routes: readonly Route[], options: HttpOptions): Listener {
  const { log } = options;
  const answer = async (request: Request, response: Response): Promise<void> => {
    // The client disconnected during authentication.
    if (response.destroyed || response.headersSent) return;
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    if (options.isStrictTransport?.(request)) response.setHeader('strict-transport-security', 'max-age=31536000');
    const url = urlOf(request);
    if (!url) return sendText(response, 400, 'the path is malformed\n');
    try {
      const fitting = routes.flatMap((route) => {
        const found = route.path.exec(url.pathname);
        return found ? [{ route, groups: found.slice(1).map((group) => decode(group ?? '')) }] : [];
      });
      const chosen = fitting.find(({ route }) => (route.methods as readonly string[]).includes(request.method ?? ''));
      if (!chosen) {
        const allow = [...new Set(fitting.flatMap(({ route }) => route.methods))].join(', ');
        return sendText(
          response,
          allow ? 405 : 404,
          allow ? 'method not allowed\n' : 'not found\n',
          allow ? { allow } : {},
        );
      }
      await chosen.route.answer(exchangeOf(request, response, url, options), chosen.groups);
    } catch (error) {
      // Errors that result from a disconnected client are not failures of the server or its database.
      const isGone = response.destroyed || request.errored !== null;
      if (isGone && !(error instanceof PlatformError)) return void response.destroy();
      sendError(response, publicError(error, log, `${request.method} ${url.pathname}`), options.requestId?.());
    }
  };
  return answer;
}

function exchangeOf(request: Request, response: Response, url: URL, options: HttpOptions): Exchange {
  const { authenticator, budgets, prove } = options;
  const announced = announcedBytes(request.headers['content-length']);
  const known: { payer: Payer | undefined } = { payer: undefined };
  const charge = (bytes: number): void => {
    if (known.payer) budgets?.chargeBytes(known.payer, bytes);
  };
  const admit = (payer: Payer): void => {
    budgets?.admit(payer, `${request.method} ${url.pathname}`, announced);
    known.payer = payer;
  };
  const callerOrAttempt = async (): Promise<Caller> => {
    const caller = await callerOfRequest(authenticator, request);
    prove?.(request, caller.id);
    admit(caller);
    return caller;
  };
  return {
    request,
    response,
    url,
    caller: async () => notAttempt(await callerOrAttempt()),
    callerOrAttempt,
    prove: (callerId) => prove?.(request, callerId),
    admitLink: (signer) => admit({ kind: 'links', id: signer }),
    body: () => metered(request, chargeBeyond(announced, charge)),
    drain() {
      const meter = chargeBeyond(announced, charge);
      request.on('data', (chunk: Buffer) => meter(chunk.length));
    },
    chargeSent: charge,
  };
}

async function* metered(bytes: AsyncIterable<Uint8Array>, charge: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    charge(chunk.length);
    yield chunk;
  }
}

/** Accepts a path or an absolute URL. Undefined: malformed. */
function urlOf({ url = '/' }: Request): URL | undefined {
  return URL.parse(url.startsWith('/') ? `http://host${url}` : url) ?? undefined;
}

function notAttempt(caller: Caller): Exclude<Caller, AttemptCaller> {
  if (caller.kind === 'attempt') throw new PlatformError('PERMISSION_DENIED', { resource: 'more than its own files' });
  return caller;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'path', value: text, limit: 'percent-encoded UTF-8' }, error);
  }
}

/** By token, by key or part secret in headers, or by session cookie for GET and HEAD. */
async function callerOfRequest(authenticator: Authenticator, request: Request): Promise<Caller> {
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const authorization = header('authorization');
  if (authorization !== undefined) return authenticator.bearer(authorization);
  const [keyId, key, partId, secret] = [header('key_id'), header('key'), header('part_id'), header('secret')];
  if (keyId !== undefined && key !== undefined) return (await authenticator.check('api-key', keyId, key)).caller;
  if (partId !== undefined && secret !== undefined)
    return (await authenticator.check('robot-secret', partId, secret)).caller;
  const cookies = header('cookie');
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  if (cookies !== undefined && isReading && isSameOrigin(header('origin'), header('host'))) {
    const caller = await authenticator.session(cookies);
    if (caller) return caller;
  }
  throw new PlatformError('NOT_AUTHENTICATED');
}

export function send(
  response: Response,
  status: number,
  headers: Record<string, string | number>,
  body?: string | Uint8Array,
): void {
  response.writeHead(status, headers);
  response.end(body);
}

export const sendText = (
  response: Response,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void =>
  send(
    response,
    status,
    { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text), ...headers },
    text,
  );

const jsonText = (value: unknown): string => `${JSON.stringify(value)}\n`;

const jsonHeaders = (text: string): Record<string, string | number> => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(text),
  'cache-control': 'no-store',
});

export const sendJson = (response: Response, status: number, value: unknown): void => {
  const text = jsonText(value);
  send(response, status, jsonHeaders(text), text);
};

function sendError(response: Response, error: PlatformError, requestId: string | undefined): void {
  // The client has disconnected.
  if (response.destroyed) return;
  if (response.headersSent) {
    // The status is sent already: a broken response must not look complete.
    response.destroy();
    return;
  }
  const { retryAfterS } = error.data;
  if (retryAfterS !== undefined) response.setHeader('retry-after', String(retryAfterS));
  else if (error.code === 'TOO_MANY_REQUESTS' || errorTable[error.code].rpc === 'unavailable')
    response.setHeader('retry-after', '1');
  const text = jsonText({
    code: error.code,
    message: error.what,
    remedy: error.remedy,
    metadata: errorInfoOf(error, requestId).metadata,
  });
  const { req: request } = response;
  if (request.httpVersionMajor > 1 || request.complete)
    return send(response, httpStatusOf(error.code), jsonHeaders(text), text);
  // Over HTTP/1 the rest of the body is still in transit. Closing the connection before reading it causes a reset, and
  // the client loses the unread response.
  response.writeHead(httpStatusOf(error.code), { ...jsonHeaders(text), connection: 'close' });
  response.write(text);
  void discardRest(request).then(() => response.end());
}

/** Limit of the bytes read from a body after its request was rejected. */
const restBytes = 8 * 1024 * 1024;

/** Never rejects. The limit on stalled requests closes a client that stops sending. */
async function discardRest(request: Request): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > restBytes) return;
    }
  } catch {
    // The client closed the connection.
  }
}

export type BlobAnswer = {
  sha256: string;
  sizeBytes: number;
  contentType: string;
  /** The content of this URL never changes. */
  isImmutable?: boolean;
  headers?: Record<string, string>;
};

/** GET and HEAD of a stored file, whole or in one range, with its sha256 as ETag. */
export async function sendBlob(
  { request, response, chargeSent }: Exchange,
  blobs: BlobStore,
  blob: BlobAnswer,
): Promise<void> {
  const etag = `"${blob.sha256}"`;
  const headers: Record<string, string | number> = {
    'content-type': blob.contentType,
    'accept-ranges': 'bytes',
    etag,
    'cache-control': blob.isImmutable ? 'public, max-age=31536000, immutable' : 'private, no-cache',
    ...blob.headers,
  };
  if (request.headers['if-none-match'] === etag) return send(response, 304, headers);
  const wanted =
    request.headers['if-range'] === undefined || request.headers['if-range'] === etag
      ? request.headers.range
      : undefined;
  const range = parseRange(wanted, blob.sizeBytes);
  if (range === 'outside') {
    response.setHeader('content-range', `bytes */${blob.sizeBytes}`);
    throw new PlatformError('RANGE_NOT_SATISFIABLE', { range: String(wanted), sizeBytes: blob.sizeBytes });
  }
  const sizeBytes = range ? range.end - range.start + 1 : blob.sizeBytes;
  if (range) headers['content-range'] = `bytes ${range.start}-${range.end}/${blob.sizeBytes}`;
  headers['content-length'] = sizeBytes;
  const status = range ? 206 : 200;
  if (request.method === 'HEAD' || sizeBytes === 0) return send(response, status, headers);
  const bytes = await blobs.get(blob.sha256, range);
  response.writeHead(status, headers);
  // A client that disconnects is not a failure of the server.
  await pipeline(metered(bytes, chargeSent), response).catch(() => response.destroy());
}

/** One range of a `range` header. Undefined means the whole file: several ranges or another unit. */
function parseRange(header: string | undefined, sizeBytes: number): Range | 'outside' | undefined {
  const found = header === undefined ? null : /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (!found) return undefined;
  const [, first = '', last = ''] = found;
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (first !== '' && last !== '' && Number(last) < start) return undefined;
  return start >= sizeBytes || (first === '' && Number(last) === 0) ? 'outside' : { start, end };
}
