import type { Clock } from '@platform/kit';
import { inherited } from '../network/endpoints/endpoints-process.ts';
import { acceptOn } from './accept.ts';
import { httpConnection } from './http-connection.ts';
import { agentPipe } from './agent-pipe.ts';
import { portal } from './portal.ts';
import { provisioningRpc } from './rpc.ts';

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
