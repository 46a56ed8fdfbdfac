import type { Processes } from '../../os/ports.ts';
import type { Confinement } from '../endpoints/confinement.ts';
import { serveInChild, type ChildParts } from '../endpoints/endpoints-child.ts';
import type { ProvisioningEndpoints } from '../endpoints/endpoints-port.ts';
import { startEndpointProcess, type EndpointProcess } from '../endpoints/endpoints-process.ts';
import { bindSocket, type HeldSocket } from './endpoints-sockets.ts';

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
