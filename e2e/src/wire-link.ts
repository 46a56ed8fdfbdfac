// One kept-alive HTTP/1.1 connection with minimal cost, so that one process can simulate thousands of machines.
import net from 'node:net';

export interface WireAnswer {
  status: number;
  body: Buffer;
  /** Lower-case. */
  head: string;
}

/** Encodes a Connect call. */
export function callBytes(
  url: string,
  method: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const all = {
    host: new URL(url).host,
    'content-type': 'application/proto',
    'connect-protocol-version': '1',
    ...headers,
    'content-length': String(body.length),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([Buffer.from(`POST /${method} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), body]);
}

const empty: Buffer = Buffer.alloc(0);

/** One request at a time. A broken connection fails the current request; the next request reconnects. */
export class WireLink {
  readonly #host: string;
  readonly #port: number;
  #socket: net.Socket | undefined;
  #got: Buffer = empty;
  #waiting: { resolve: (answer: WireAnswer) => void; reject: (error: Error) => void } | undefined;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  ask(request: Uint8Array): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      (this.#socket ??= this.#connect()).write(request);
    });
  }
  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#waiting?.reject(new Error('the connection was closed'));
    this.#waiting = undefined;
  }

  #connect(): net.Socket {
    const socket = net.connect({ host: this.#host, port: this.#port, noDelay: true });
    this.#got = empty;
    socket.on('data', (chunk) => this.#take(chunk));
    const lost = (error?: Error): void => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.reject(error ?? new Error('the connection was closed'));
    };
    socket.on('error', lost);
    socket.on('close', () => lost());
    return socket;
  }
  #take(chunk: Buffer): void {
    this.#got = this.#got.length === 0 ? chunk : Buffer.concat([this.#got, chunk]);
    const end = this.#got.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#got.toString('latin1', 0, end).toLowerCase();
    const length = Number(/\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (this.#got.length < end + 4 + length) return;
    const answer = {
      status: Number(head.slice(9, 12)),
      head,
      body: Buffer.from(this.#got.subarray(end + 4, end + 4 + length)),
    };
    this.#got = empty;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (head.includes('\nconnection: close')) this.close();
    waiting?.resolve(answer);
  }
}
