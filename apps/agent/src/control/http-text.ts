import { httpStatusOf, PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { httpFieldOf } from '@platform/kit';

// One request per connection, in the subset of HTTP/1.1 that curl and node:http use on a socket. The HTTP server of the
// runtime would take a fifth of an idle agent's own memory.

export const headLimitBytes = 4096;
export const bodyLimitBytes = 4096;

export interface HttpRequest {
  method: string;
  /** Without the query. */
  path: string;
  /** Empty: none. */
  body: string;
}

const headEnd = Buffer.from('\r\n\r\n');
const bad = (field: string, limit: string): PlatformError => new PlatformError('INVALID_ARGUMENT', { field, limit });

/** Parses a request; undefined: more bytes are needed. @throws PlatformError if the bytes are not a request */
export function readRequest(bytes: Buffer): HttpRequest | undefined {
  const end = bytes.indexOf(headEnd);
  if (end > headLimitBytes || (end < 0 && bytes.length > headLimitBytes)) {
    throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: headLimitBytes });
  }
  if (end < 0) {
    // Reject other input at once instead of waiting for the rest.
    if (!/^[A-Z]{0,20}( |$)/.test(bytes.toString('latin1', 0, 24))) throw bad('request', 'it must be HTTP/1.1');
    return undefined;
  }
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [, method, target] = /^([A-Z]{1,20}) (\S+) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || target === undefined) throw bad('request', 'it must be HTTP/1.1');
  let length = 0;
  for (const line of lines) {
    const { name, value } = httpFieldOf(line) ?? { name: '', value: '' };
    if (name === '') throw bad('request', 'it must be HTTP/1.1');
    if (/^transfer-encoding$/i.test(name)) throw bad('transfer-encoding', 'send the body with its length');
    if (!/^content-length$/i.test(name)) continue;
    if (!/^\d{1,9}$/.test(value)) throw bad('content-length', 'it must be a number');
    length = Number(value);
  }
  if (length > bodyLimitBytes) throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: bodyLimitBytes });
  const begin = end + headEnd.length;
  if (bytes.length < begin + length) return undefined;
  return { method, path: target.split('?')[0] ?? '', body: bytes.toString('utf8', begin, begin + length) };
}

/** A complete answer with JSON; the connection closes after it. */
export function replyText(code: ErrorCode | undefined, json: unknown): string {
  const status = code === undefined ? '200 OK' : `${httpStatusOf(code)} ${code}`;
  const body = `${JSON.stringify(json)}\n`;
  const head = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, 'connection: close'];
  return `HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${body}`;
}
