import { closeSync } from 'node:fs';
import { connect } from 'node:net';
import type { Clock } from '@platform/kit';
import { pipeReader, streamConnector, type StreamFile } from './libc.ts';

/** A connection to a Unix stream socket. */
export interface ByteStream {
  send(bytes: Uint8Array): void;
  /** Ends with the connection, also after `close`; throws if it breaks. */
  readonly received: AsyncIterable<Uint8Array>;
  close(): void;
}

/** A peer that reads nothing for this long has hung. */
const longestSendMs = 10_000;
const sendAgainMs = 10;

/** Connects to a path, or to the name of an abstract socket after `@`. @throws Error if no process listens there */
export type OpenStream = (address: string) => Promise<ByteStream>;

/** Call it once: each call binds functions of the C library again. */
export async function streamOpener(clock: Clock): Promise<OpenStream> {
  if (!process.versions['bun']) return openSocket;
  const connectTo = await streamConnector();
  return (address) => Promise.resolve(streamOn(connectTo(address), clock));
}

function streamOn(stream: StreamFile, clock: Clock): ByteStream {
  const reader = pipeReader(stream.file);
  if (!reader) throw new Error('the runtime cannot read a socket');
  const closed = new AbortController();
  const close = (): void => {
    if (closed.signal.aborted) return;
    closed.abort();
    void reader.cancel().catch(() => {});
  };
  let sending = Promise.resolve();
  return {
    send(bytes) {
      // Chained: the bytes of two messages must not mix when the buffer of the socket is full.
      sending = sending.then(() => sendAll(stream, bytes, clock, closed.signal)).catch(close);
    },
    received: readAll(reader, () => closeSync(stream.file)),
    close,
  };
}

async function sendAll(stream: StreamFile, bytes: Uint8Array, clock: Clock, signal: AbortSignal): Promise<void> {
  const end = clock.now() + longestSendMs;
  for (let rest = bytes; ;) {
    if (signal.aborted) return;
    rest = rest.subarray(stream.send(rest));
    if (rest.length === 0) return;
    if (clock.now() >= end) throw new Error('the other side reads nothing');
    await clock.sleep(sendAgainMs, signal);
  }
}

async function* readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  closed: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    closed();
  }
}

/** For other runtimes than that of the compiled program. */
async function openSocket(address: string): Promise<ByteStream> {
  const socket = connect(address.startsWith('@') ? `\0${address.slice(1)}` : address);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {}); // the iteration throws it
  return {
    send: (bytes) => void socket.write(bytes),
    received: socket,
    close: () => void socket.destroy(),
  };
}
