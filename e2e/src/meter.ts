import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemClock } from '@platform/kit/node';

/** Traffic of one program, identified by a call that only this program makes. */
export interface Tally {
  /** Excludes the headers of TCP and IP. */
  bytes: number;
  connections: number;
  /** Calls by path. */
  calls: ReadonlyMap<string, number>;
}

/** A proxy in front of a server, for programs that use HTTP/1.1 without TLS. */
export interface Meter extends AsyncDisposable {
  readonly url: string;
  /** Counts the connections on which no path of `others` has been called so far. */
  tally(others: readonly string[]): Tally;
  /** Instant (systemClock) at which a client first sends `text`, from now on. */
  heard(text: string): Promise<number>;
}

interface Connection {
  bytes: number;
  readonly calls: Map<string, number>;
}

const requestLine = /\b(?:GET|HEAD|POST) (\/[^ ]*) HTTP\/1\.1\r\n/g;

export async function meter(target: string): Promise<Meter> {
  const { hostname, port } = new URL(target);
  const connections: Connection[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Map<string, (at: number) => void>();
  const server = createServer((caller) => {
    const connection: Connection = { bytes: 0, calls: new Map() };
    connections.push(connection);
    const callee = connect(Number(port), hostname);
    for (const [from, to] of [
      [caller, callee],
      [callee, caller],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        connection.bytes += bytes.length;
        if (from !== caller) return;
        for (const [text, tell] of waiting) if (bytes.includes(text)) tell(systemClock.now());
        for (const [, path = ''] of bytes.toString('latin1').matchAll(requestLine))
          connection.calls.set(path, (connection.calls.get(path) ?? 0) + 1);
      });
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => (to.destroy(), sockets.delete(from)));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tally(others) {
      const own = connections.filter(({ calls }) => !others.some((path) => calls.has(path)));
      const calls = new Map<string, number>();
      for (const [path, count] of own.flatMap((c) => [...c.calls])) calls.set(path, (calls.get(path) ?? 0) + count);
      return { bytes: own.reduce((sum, { bytes }) => sum + bytes, 0), connections: own.length, calls };
    },
    heard: (text) =>
      new Promise((resolve) => {
        waiting.set(text, (at) => {
          waiting.delete(text);
          resolve(at);
        });
      }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
