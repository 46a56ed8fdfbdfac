import type { Processes } from '../../os/ports.ts';
import type { Confinement } from '../endpoints/confinement.ts';
import { serveInChild, type ChildParts } from '../endpoints/endpoints-child.ts';
import type { ProvisioningEndpoints } from '../endpoints/provisioning-view.ts';
import { startEndpointProcess, type EndpointProcess } from '../endpoints/endpoints-process.ts';
import { createServer, type Server } from 'node:net';

export interface EndpointParts extends ChildParts {
  processes: Pick<Processes, 'listener'>;
  /** Default: those that phones and apps expect. */
  ports?: { portal: number; rpc: number };
}

const standardPorts = { portal: 80, rpc: 4772 };

/** The endpoints of the hotspot. This process opens the ports and hands the sockets over. */
export const childEndpoints = (parts: EndpointParts): ProvisioningEndpoints => ({
  serve({ address, view, handlers, opened }, signal) {
    let hasOpened = false;
    const once = (): void => {
      if (!hasOpened) opened();
      hasOpened = true;
    };
    const start = (confinement: Confinement) => startWithSockets(address, parts, confinement);
    return serveInChild({ name: 'the portal', view, handlers, opened: once, start }, parts, signal);
  },
});

async function startWithSockets(
  address: string,
  parts: EndpointParts,
  confinement: Confinement,
): Promise<EndpointProcess> {
  const { command, env, processes, ports = standardPorts } = parts;
  const sockets: HeldSocket[] = [];
  try {
    for (const port of [ports.portal, ports.rpc]) sockets.push(await bindSocket(address, port, processes));
    const [portal, rpc] = sockets.map(({ descriptor }) => descriptor) as [number, number];
    const args = ['--address', address, '--port', String(ports.portal)];
    return await startEndpointProcess({ command: [...command, ...args], env, sockets: { portal, rpc }, confinement });
  } finally {
    for (const socket of sockets) socket.close(); // the child has its own; the ports close with it
  }
}

/** A listening socket that is only handed over: nothing is accepted or read here. */
interface HeldSocket {
  readonly descriptor: number;
  /** Closes the descriptor of this process. */
  close(): void;
}

/** @throws Error that names the process that has the port */
async function bindSocket(host: string, port: number, processes: Pick<Processes, 'listener'>): Promise<HeldSocket> {
  // A connection that comes before the hand-over is closed; phones try again.
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: 64 }, resolve);
    });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
    const owner = await processes.listener(port);
    const by = owner ? `${owner.command} (process ${owner.pid})` : 'another program';
    throw new Error(`Port ${port} on ${host} is used by ${by}. Stop it, or let it listen on other addresses only.`, {
      cause: error,
    });
  }
  return { descriptor: descriptorOf(server), close: () => void server.close() };
}

/** Node and Bun keep it in a property that has no documentation; a test starts the compiled program. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as Server & { _handle?: { fd?: number } };
  if (typeof handle?.fd === 'number' && handle.fd > 2) return handle.fd;
  server.close();
  throw new Error('this runtime does not give the descriptor of a socket');
}
