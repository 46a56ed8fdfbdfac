// A TCP relay: clients keep an address while the server behind it moves to another port.
import { once } from 'node:events';
import net from 'node:net';

export interface Relay extends AsyncDisposable {
  readonly port: number;
  /** The port that new connections reach; undefined: none, they are closed at once. */
  lead(to: number | undefined): void;
}

export async function startRelay(): Promise<Relay> {
  const open = new Set<net.Socket>();
  let target: number | undefined;
  const server = net.createServer((near) => {
    if (target === undefined) return void near.destroy();
    const far = net.connect(target, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as net.AddressInfo).port,
    lead: (to) => void (target = to),
    async [Symbol.asyncDispose]() {
      const closed = once(server.close(), 'close');
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
