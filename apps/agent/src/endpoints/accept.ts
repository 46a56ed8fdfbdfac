import { createServer, type Server, type Socket } from 'node:net';

const most = { all: 128, ofOneAddress: 32 };

/**
 * Accepts connections on an inherited socket. With too many open, the oldest is closed: that of the same address first.
 * Connections from outside the /24 network of the hotspot are closed: the portal is not for those on a cable.
 *
 * @param address - of the hotspot
 */
export function acceptOn(descriptor: number, address: string, serve: (socket: Socket) => void): Promise<Server> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const remote = socket.remoteAddress ?? '';
    if (networkOf(remote) !== networkOf(address)) return void socket.destroy();
    socket.on('error', () => {}); // the client is gone
    const same = [...open].filter((other) => other.remoteAddress === remote);
    if (same.length >= most.ofOneAddress) same[0]?.destroy();
    else if (open.size >= most.all) [...open][0]?.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    serve(socket);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // `http.Server.listen` of Bun ignores the descriptor and opens port 3000: only `net` takes one.
    server.listen({ fd: descriptor }, () => resolve(server));
  });
}

const networkOf = (address: string): string => address.slice(0, address.lastIndexOf('.'));
