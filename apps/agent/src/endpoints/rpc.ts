import type { Clock } from '@platform/kit';
import { GrpcServer } from './grpc-server.ts';
import type { AgentLink } from './link.ts';
import { provisioningCalls } from './provisioning-rpc.ts';

/** Serves the provisioning RPC on connections to its port. */
export const provisioningRpc = (link: AgentLink, clock: Clock): GrpcServer =>
  new GrpcServer(provisioningCalls(link, clock), clock);
