import type { Socket } from 'node:net';
import type { Clock } from '@platform/kit';
import { headBytes, parseHead, type Head } from './http-head.ts';

// One request on each connection, with fixed buffers: no keep-alive, no pipelines, no chunks. The HTTP servers of Node
// and Bun differ in their time limits and in what they do with an inherited socket; this runs the same on both.
// Decision 0049.

export interface Request extends Head {
  body: Buffer;
}

export interface Answer {
  status: number;
  /** Besides those of every answer. */
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export type Handler = (request: Request) => Promise<Answer>;

const limits = { readMs: 10_000, handleMs: 100_000, writeMs: 10_000, unreadBytes: 1024 * 1024 };
const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  302: 'Found',
  303: 'See Other',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  411: 'Length Required',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
};
const headEnd = Buffer.from('\r\n\r\n');

/** Reads one request, answers it and closes the connection. */
export function httpConnection(socket: Socket, handle: Handler, clock: Clock): void {
  const phase = timeLimit(socket, clock);
  let head: Head | undefined;
  let buffer = Buffer.alloc(headBytes);
  let used = 0;
  /** Bytes after the request; -1: the request is not complete. */
  let after = -1;

  const answer = (of: Answer): void => {
    phase(limits.writeMs);
    if (!socket.destroyed) socket.end(answerBytes(of, head?.method === 'HEAD'));
  };
  const refuse = (status: number): void => {
    after = 0;
    answer({ status, body: reasons[status] ?? '' });
  };
  const complete = (request: Request): void => {
    after = 0;
    phase(limits.handleMs);
    handle(request).then(answer, () => answer({ status: 500, body: reasons[500] ?? '' }));
  };
  const takeHead = (): Buffer | undefined => {
    const end = buffer.subarray(0, used).indexOf(headEnd);
    if (end < 0) {
      if (used === headBytes) refuse(431);
      return undefined;
    }
    const parsed = parseHead(buffer.toString('latin1', 0, end));
    const rest = Buffer.from(buffer.subarray(end + headEnd.length, used));
    if (typeof parsed === 'number') {
      refuse(parsed);
      return undefined;
    }
    head = parsed;
    if (parsed.headers.get('expect')?.toLowerCase() === '100-continue') socket.write('HTTP/1.1 100 Continue\r\n\r\n');
    buffer = Buffer.alloc(parsed.bodyBytes);
    used = 0;
    return rest;
  };
  const take = (chunk: Buffer): void => {
    if (after >= 0) {
      after += chunk.length; // read, so that the client reads the answer before the connection is reset
      if (after > limits.unreadBytes) socket.destroy();
      return;
    }
    const taken = chunk.copy(buffer, used);
    used += taken;
    if (!head) {
      const rest = takeHead();
      if (rest) take(rest);
    } else if (used === buffer.length) complete({ ...head, body: buffer });
    if (taken < chunk.length) take(chunk.subarray(taken));
  };
  socket.on('data', take);
  socket.on('end', () => {
    if (after < 0) socket.destroy(); // the request never becomes complete
  });
}

/** Closes the connection when the time of its current phase is over; a new phase begins with each call. */
function timeLimit(socket: Socket, clock: Clock): (ms: number) => void {
  let current = new AbortController();
  const start = (ms: number): void => {
    current.abort();
    const { signal } = (current = new AbortController());
    void expire(signal, ms);
  };
  const expire = async (signal: AbortSignal, ms: number): Promise<void> => {
    await clock.sleep(ms, signal);
    if (!signal.aborted) socket.destroy();
  };
  socket.once('close', () => current.abort());
  start(limits.readMs);
  return start;
}

function answerBytes({ status, headers = {}, body = '' }: Answer, isHead: boolean): string {
  const all = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\n${lines.join('')}\r\n${isHead ? '' : body}`;
}
