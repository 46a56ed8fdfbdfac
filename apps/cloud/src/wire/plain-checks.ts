import type net from 'node:net';
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Clock } from '@platform/kit';
import { type CheckRequest, longestCheck, type Reply, checkPaths } from './check.ts';

/** How the first bytes of a connection are classified. */
export type PlainRead = { is: 'check'; request: Omit<CheckRequest, 'address'> } | { is: 'more' } | { is: 'other' };

const starts = checkPaths.map((path) => ({ path, bytes: Buffer.from(`POST ${path} HTTP/1.1\r\n`) }));
const longestHead = 4_096;
/** A request with one of these headers is not a plain check. */
const unusual = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'proxy-connection',
  'origin',
  'cookie',
  'trailer',
  'te',
]);
const name = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/**
 * Parses a config check in its usual form: exactly one HTTP/1.1 request, without bytes before or after it. Everything
 * else is `other` and goes to the HTTP server.
 */
export function readPlainCheck(bytes: Buffer): PlainRead {
  const start = starts.find((one) => {
    const begun = bytes.subarray(0, one.bytes.length);
    return one.bytes.subarray(0, begun.length).equals(begun);
  });
  if (!start) return { is: 'other' };
  const first = start.bytes.length;
  const end = bytes.indexOf('\r\n\r\n', first - 2);
  if (end < 0) return bytes.length > longestHead ? { is: 'other' } : { is: 'more' };
  const headers = headersOf(bytes.toString('latin1', first, end));
  const length = headers?.get('content-length') ?? '';
  if (!headers || !/^[1-9]\d{0,3}$/.test(length) || Number(length) > longestCheck) return { is: 'other' };
  const authorization = headers.get('authorization');
  const host = headers.get('host');
  if (!authorization || host === undefined || headers.get('content-type') !== 'application/proto')
    return { is: 'other' };
  const connection = headers.get('connection')?.toLowerCase() ?? 'keep-alive';
  if (connection !== 'keep-alive' || [...unusual].some((one) => headers.has(one))) return { is: 'other' };
  const whole = end + 4 + Number(length);
  if (bytes.length < whole) return { is: 'more' };
  if (bytes.length > whole) return { is: 'other' };
  const body = bytes.subarray(end + 4);
  return { is: 'check', request: { path: start.path, authorization, host, isSecure: false, body } };
}

/** Control characters except the tab. `trim` removes some of them, and other parsers end a line at some. */
const control = /[[\p{Cc}\u00a0]--[\t]]/v;

/** Undefined: a header is malformed or occurs twice. */
function headersOf(text: string): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of text === '' ? [] : text.split('\r\n')) {
    const colon = line.indexOf(':');
    const key = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!name.test(key) || headers.has(key)) return undefined;
    const value = line.slice(colon + 1);
    if (control.test(value)) return undefined;
    headers.set(key, value.trim());
  }
  return headers;
}

/** Connections that have carried only config checks so far. */
export type PlainChecks = {
  /** Takes over a connection by its first bytes. `more`: too few bytes to classify it. */
  take(socket: net.Socket, bytes: Buffer): PlainRead['is'];
};

const statusTexts: Readonly<Record<number, string>> = {
  200: 'OK',
  401: 'Unauthorized',
  404: 'Not Found',
  429: 'Too Many Requests',
};

/** @param headers - alternating names and values. */
function responseHead(
  status: number,
  headers: readonly string[],
  date: string,
  bodyBytes: number,
  isLast: boolean,
): Buffer {
  const lines = [`HTTP/1.1 ${status} ${statusTexts[status] ?? 'Error'}`];
  for (let n = 0; n + 1 < headers.length; n += 2) lines.push(`${headers[n]}: ${headers[n + 1]}`);
  lines.push(`date: ${date}`, `content-length: ${bodyBytes}`);
  // Omit `connection: keep-alive`, the default: this response is sent a million times a day.
  if (isLast) lines.push('connection: close');
  lines.push('', '');
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

/** @returns the date header of this second. */
function dateFormat(clock: Clock): () => string {
  const now = { second: 0, date: '' };
  return () => {
    const second = Math.floor(clock.wall() / 1000);
    if (second !== now.second)
      Object.assign(now, { second, date: timestampDate(timestampFromMs(second * 1000)).toUTCString() });
    return now.date;
  };
}

/** Connections that wait for their client: for the next request, or until it has read the response. */
type RestingConnections = {
  /** Calls `then` at the event, unless the connection closes first. It takes `before`, so that callers need no closure. */
  until(
    socket: net.Socket,
    event: 'readable' | 'drain',
    then: (socket: net.Socket, before: Buffer | undefined) => void,
    before?: Buffer,
  ): void;
};

/** Closes a connection that rests for `keepAliveMs`. */
function restingConnections(clock: Clock, keepAliveMs: number, stop: AbortSignal): RestingConnections {
  const since = new Map<net.Socket, number>();
  const closeIdle = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(Math.min(5_000, keepAliveMs), stop);
      const limit = clock.now() - keepAliveMs;
      for (const [socket, start] of since) if (stop.aborted || start < limit) socket.destroy();
    }
  };
  void closeIdle();
  return {
    until(socket, event, then, before) {
      since.set(socket, clock.now());
      const forget = (): void => void since.delete(socket);
      socket.once('close', forget);
      socket.once(event, () => {
        socket.off('close', forget);
        forget();
        then(socket, before);
      });
    },
  };
}

/** One request until its response is sent or the connection closes. */
type Turn = {
  isOver: boolean;
  /** Called at the end. */
  ended: (() => void)[];
  /** The start of the next request, which came before the response. */
  early: Buffer | undefined;
  end(this: void): void;
  /** Reads the next request before the response, or the end of the connection. */
  readEarly(this: void): void;
};

function openTurn(socket: net.Socket): Turn {
  const turn: Turn = { isOver: false, ended: [], early: undefined, end, readEarly };
  function end(): void {
    turn.isOver = true;
    socket.off('close', end);
    socket.off('readable', readEarly);
    for (const then of turn.ended.splice(0)) then();
  }
  function readEarly(): void {
    const more = socket.read() as Buffer | null;
    if (more) {
      turn.early = more;
      socket.off('readable', readEarly);
    } else if (!socket.readable) {
      socket.destroy();
    }
  }
  return turn;
}

/**
 * Handles thousands of mostly idle connections without the HTTP server's state for each. That state takes more memory
 * than all that we store about a machine. A connection that sends anything else moves to the HTTP server permanently.
 * Decision 0014.
 */
export function plainChecks(of: {
  take: (request: CheckRequest, reply: Reply, socket: net.Socket) => boolean;
  /** Takes connections that carry another request; `bytes` come first. */
  other: (socket: net.Socket, bytes: Buffer) => void;
  clock: Clock;
  /** Closes a connection that is idle for this time. */
  keepAliveMs: number;
  stop: AbortSignal;
}): PlainChecks {
  const { clock, stop } = of;
  const resting = restingConnections(clock, of.keepAliveMs, stop);
  const dateText = dateFormat(clock);

  const answer = (socket: net.Socket, bytes: Buffer): PlainRead['is'] => {
    const read = readPlainCheck(bytes);
    if (read.is !== 'check') return read.is;
    const turn = openTurn(socket);
    const reply: Reply = {
      get isGone() {
        return turn.isOver;
      },
      send(status, headers, body) {
        turn.end();
        const isLast = stop.aborted || status === 429;
        const head = responseHead(status, headers, dateText(), body.length, isLast);
        const isTaken = socket.write(Buffer.concat([head, body]));
        const next = (): void => (turn.early ? go(socket, turn.early) : rest(socket));
        if (isLast) socket.end();
        else if (isTaken) next();
        // Responses must not pile up for a client that does not read.
        else resting.until(socket, 'drain', next);
      },
      onEnd: (then) => void turn.ended.push(then),
    };
    const { remoteAddress: address = '' } = socket;
    if (!of.take({ ...read.request, address }, reply, socket)) return 'other';
    if (!turn.isOver) {
      socket.once('close', turn.end);
      socket.on('readable', turn.readEarly);
    }
    return 'check';
  };
  const go = (socket: net.Socket, bytes: Buffer): void => {
    const found = answer(socket, bytes);
    if (found === 'more') rest(socket, bytes);
    else if (found === 'other') of.other(socket, bytes);
  };
  const readNext = (socket: net.Socket, before: Buffer | undefined): void => {
    const more = socket.read() as Buffer | null;
    // The client has closed its side.
    if (!more) return void socket.destroy();
    go(socket, before ? Buffer.concat([before, more]) : more);
  };
  /** Waits for the next check or another request. */
  const rest = (socket: net.Socket, before?: Buffer): void => resting.until(socket, 'readable', readNext, before);
  return { take: answer };
}
