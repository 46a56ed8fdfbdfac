// Unary gRPC over plaintext HTTP/2, for anyone on the hotspot. @connectrpc/connect-node takes the same memory under Bun
// (9.5 against 9.7 MB anonymous, minified), but leaves a client that it refuses waiting for window, and gathers a body in
// chunks. node:http2 ends floods of resets, pings, settings, continuations and empty frames, on Bun and on Node; the rest
// is limited here. The process of the endpoints has 12 MiB, and 44 MiB at most in 19 kinds of floods.
import http2 from 'node:http2';
import type { Socket } from 'node:net';
import { connectCode, errorTable, PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';

/** One call: message in, message out. @throws PlatformError or GrpcFailure: what the client receives */
export type Unary = (message: Uint8Array) => Promise<Uint8Array>;

/** A failure whose code and text come from the agent. */
export class GrpcFailure extends Error {
  readonly status: number;
  constructor(code: string, text: string) {
    super(`${code}: ${text}`);
    this.name = 'GrpcFailure';
    const row = Object.hasOwn(errorTable, code) ? errorTable[code as keyof typeof errorTable] : undefined;
    this.status = connectCode[row?.rpc ?? 'failed_precondition'];
  }
}

export const grpcLimits = {
  messageBytes: 16 * 2 ** 10,
  connections: 16,
  /** On one connection at the same time. */
  streams: 8,
  /** Until the request is complete, and until its client has read the answer to the end. */
  requestMs: 10_000,
  /** Until the first call; a phone opens the connection when it calls. */
  firstCallMs: 20_000,
  /** Between two calls: a user types a password meanwhile. Clients connect again by themselves. */
  idleMs: 5 * 60_000,
} as const;

const sweepMs = 2_000;
const flushMs = 500;
const contentType = 'application/grpc';

interface Client {
  readonly session: http2.ServerHttp2Session;
  calls: number;
  lastUsed: number;
  readonly streams: Map<http2.ServerHttp2Stream, { since: number; isAnswering: boolean }>;
}

export class GrpcServer {
  readonly #server: http2.Http2Server;
  readonly #calls: ReadonlyMap<string, Unary>;
  readonly #clock: Clock;
  readonly #clients = new Map<http2.Http2Session, Client>();

  /** @param calls - by path, `/package.Service/Method` */
  constructor(calls: ReadonlyMap<string, Unary>, clock: Clock) {
    this.#calls = calls;
    this.#clock = clock;
    this.#server = http2.createServer({
      maxSessionMemory: 1,
      settings: {
        maxConcurrentStreams: grpcLimits.streams,
        maxHeaderListSize: 8 * 2 ** 10,
        initialWindowSize: 65_535,
      },
    });
    this.#server.on('session', (session) => this.#enter(session));
    this.#server.on('stream', (stream, headers) => void this.#answer(stream, headers));
    this.#server.on('sessionError', () => {}); // a client that breaks the protocol; its session is gone
  }

  /** Serves this connection. */
  take(socket: Socket): void {
    this.#server.emit('connection', socket);
  }

  get connections(): number {
    return this.#clients.size;
  }

  /** Ends clients that stall or stay idle until `signal` aborts; then sends the answers that are due and closes all. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#sweep();
      await this.#clock.sleep(sweepMs, signal);
    }
    const due = [...this.#clients.values()].filter((client) => client.streams.size > 0);
    for (const { session } of this.#clients.values()) session.close();
    if (due.length > 0) await Promise.race([this.#clock.sleep(flushMs), Promise.all(due.map(closed))]);
    for (const { session } of this.#clients.values()) session.destroy();
  }

  #enter(session: http2.ServerHttp2Session): void {
    if (this.#clients.size >= grpcLimits.connections) this.#evict();
    const now = this.#clock.now();
    this.#clients.set(session, { session, calls: 0, lastUsed: now, streams: new Map() });
    session.on('error', () => {}); // reset by the client; `close` follows
    session.once('close', () => this.#clients.delete(session));
  }

  /** A newcomer replaces the connection that is least in use: silent connections cannot lock a phone out. */
  #evict(): void {
    const order = [...this.#clients.values()].toSorted(
      (a, b) => Math.min(a.calls, 1) - Math.min(b.calls, 1) || a.lastUsed - b.lastUsed,
    );
    const [victim] = order;
    if (!victim) return;
    this.#clients.delete(victim.session);
    victim.session.destroy();
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const { session, calls, lastUsed, streams } of this.#clients.values()) {
      const isStalled = [...streams.values()].some((one) => !one.isAnswering && now - one.since > grpcLimits.requestMs);
      const allowed = calls === 0 ? grpcLimits.firstCallMs : grpcLimits.idleMs;
      if (isStalled || (streams.size === 0 && now - lastUsed > allowed)) session.destroy();
    }
  }

  async #answer(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => {}); // canceled by the client
    const client = stream.session && this.#clients.get(stream.session);
    if (!client) return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    const state = { since: this.#clock.now(), isAnswering: false };
    client.streams.set(stream, state);
    stream.once('close', () => {
      client.streams.delete(stream);
      client.lastUsed = this.#clock.now();
    });
    if (headers[':method'] !== 'POST' || !/^application\/grpc($|[+;])/.test(headers['content-type'] ?? ''))
      return refuse(stream, { ':status': 415 });
    try {
      const call = this.#calls.get(headers[':path'] ?? '');
      if (!call) throw new PlatformError('UNSUPPORTED', { what: `the call ${(headers[':path'] ?? '').slice(0, 100)}` });
      const message = await readMessage(stream);
      if (message === undefined) return;
      state.isAnswering = true;
      client.calls++;
      const answer = await call(message);
      state.isAnswering = false;
      state.since = this.#clock.now();
      send(stream, answer);
    } catch (error) {
      refuse(stream, { ':status': 200, 'content-type': contentType, ...statusOf(error) });
    }
  }
}

const closed = ({ session }: Client): Promise<void> =>
  new Promise((resolve) => {
    if (session.closed && session.destroyed) resolve();
    else session.once('close', () => resolve());
  });

/** @returns undefined: the client is gone. @throws PlatformError */
function readMessage(stream: http2.ServerHttp2Stream): Promise<Uint8Array | undefined> {
  const buffer = new MessageBuffer(grpcLimits.messageBytes);
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Uint8Array) => {
      try {
        buffer.push(chunk);
      } catch (error) {
        reject(error);
        stream.removeAllListeners('data');
        stream.resume();
      }
    });
    stream.once('end', () => {
      try {
        resolve(buffer.message());
      } catch (error) {
        reject(error);
      }
    });
    stream.once('close', () => resolve(undefined));
  });
}

function send(stream: http2.ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.closed) return;
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
  stream.end(frame(message));
}

/** Status in the headers, and the end of the stream: the form of an answer without a message. */
function refuse(stream: http2.ServerHttp2Stream, headers: http2.OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond(headers, { endStream: true });
  // A client that still sends would wait for window for ever.
  if (!stream.readableEnded) stream.close(http2.constants.NGHTTP2_NO_ERROR);
}

function statusOf(error: unknown): http2.OutgoingHttpHeaders {
  const failure =
    error instanceof PlatformError || error instanceof GrpcFailure ? error : new PlatformError('INTERNAL');
  const status = failure instanceof GrpcFailure ? failure.status : connectCode[errorTable[failure.code].rpc];
  return { 'grpc-status': String(status), 'grpc-message': percentEncoded(failure.message.slice(0, 700)) };
}

/** Printable ASCII except `%` stays, as the gRPC protocol demands of this header. */
const percentEncoded = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('');

const headBytes = 5;

/** A gRPC message with its header: no compression, length. */
function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(headBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headBytes);
  return framed;
}

/**
 * The one message of a unary request. It takes memory once its announced length is known and within the limit: a list
 * of one-byte chunks would take 100 times their size.
 */
class MessageBuffer {
  readonly #head = Buffer.alloc(headBytes);
  readonly #limitBytes: number;
  #body: Uint8Array | undefined;
  #size = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** @throws PlatformError MESSAGE_TOO_LARGE, INVALID_MESSAGE, UNSUPPORTED */
  push(chunk: Uint8Array): void {
    const toHead = chunk.subarray(0, Math.max(0, headBytes - this.#size));
    this.#head.set(toHead, Math.min(this.#size, headBytes));
    this.#size += toHead.length;
    if (this.#size < headBytes) return;
    this.#body ??= this.#open();
    const rest = chunk.subarray(toHead.length);
    const at = this.#size - headBytes;
    if (at + rest.length > this.#body.length)
      throw new PlatformError('INVALID_MESSAGE', { problem: 'bytes follow the only message of the call' });
    this.#body.set(rest, at);
    this.#size += rest.length;
  }

  /** @throws PlatformError INVALID_MESSAGE: it is incomplete */
  message(): Uint8Array {
    if (this.#body && this.#size === headBytes + this.#body.length) return this.#body;
    throw new PlatformError('INVALID_MESSAGE', { problem: 'it ends before its announced length' });
  }

  #open(): Uint8Array {
    if (this.#head[0] !== 0) throw new PlatformError('UNSUPPORTED', { what: 'compressed messages' });
    const length = this.#head.readUInt32BE(1);
    if (length > this.#limitBytes) throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: this.#limitBytes });
    return new Uint8Array(length);
  }
}
