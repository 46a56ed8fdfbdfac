import type { Socket } from 'node:net';
import type { AgentLink } from './link.ts';

/** Serves the provisioning RPC on a connection to its port. */
export const provisioningRpc =
  (_link: AgentLink) =>
  (socket: Socket): void =>
    void socket.destroy();
