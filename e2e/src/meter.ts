import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemClock } from '@platform/kit/node';

/** A pass-through before a server that counts what goes over the wire. */
export interface Meter extends AsyncDisposable {
  readonly url: string;
  /** Bytes in both directions so far, without the headers of TCP and IP. */
  bytes(): number;
  connections(): number;
  /** Instant (systemClock) at which a caller first said `text`, from now on. */
  heard(text: string): Promise<number>;
}

export async function meter(target: string): Promise<Meter> {
  const { hostname, port } = new URL(target);
  const count = { bytes: 0, connections: 0 };
  const sockets = new Set<Socket>();
  const waiting = new Map<string, (at: number) => void>();
  const server = createServer((caller) => {
    count.connections++;
    const callee = connect(Number(port), hostname);
    for (const [from, to] of [
      [caller, callee],
      [callee, caller],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        count.bytes += bytes.length;
        if (from !== caller || waiting.size === 0) return;
        for (const [text, tell] of waiting) if (bytes.includes(text)) tell(systemClock.now());
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
    bytes: () => count.bytes,
    connections: () => count.connections,
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
