import type { Clock } from '@platform/kit';
import { inherited } from '../network/endpoints/endpoints-process.ts';
import { httpConnection } from './http-connection.ts';
import { agentPipe } from './agent-pipe.ts';
import { portal } from './portal.ts';
import { provisioningRpc } from './rpc.ts';
import { createServer, type Server, type Socket } from 'node:net';

/** The process that serves unknown clients, without root: until the agent closes its input. */
export async function serveEndpoints(of: {
  input: AsyncIterable<Buffer>;
  say: (line: string) => void;
  address: string;
  port: number;
  newToken: () => string;
  clock: Clock;
}): Promise<void> {
  const { address, port, clock } = of;
  const pipe = agentPipe(of);
  const over = pipe.run();
  await Promise.race([pipe.view.changed(), over]); // no request is answered without a view
  const answer = portal({ pipe, address, port, token: of.newToken(), clock });
  const rpc = provisioningRpc(pipe, clock);
  const stop = new AbortController();
  const rpcEnded = rpc.run(stop.signal);
  await acceptOn(inherited.portal, address, (socket) => httpConnection(socket, answer, clock));
  await acceptOn(inherited.rpc, address, (socket) => rpc.take(socket));
  pipe.ready();
  await over;
  stop.abort();
  await rpcEnded;
}

const most = { all: 128, ofOneAddress: 32 };

/**
 * Accepts connections on an inherited socket. With too many open, the oldest is closed: that of the same address first.
 * Connections from outside the /24 network of the hotspot are closed: the portal is not for those on a cable.
 *
 * @param address - of the hotspot
 */
function acceptOn(descriptor: number, address: string, serve: (socket: Socket) => void): Promise<Server> {
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
