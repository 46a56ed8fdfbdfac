import type { Clock } from '@platform/kit';
import { GrpcServer } from './grpc-server.ts';
import type { AgentPipe } from './agent-pipe.ts';
import { provisioningCalls } from './provisioning-rpc.ts';

/** Serves the provisioning RPC on connections to its port. */
export const provisioningRpc = (pipe: AgentPipe, clock: Clock): GrpcServer =>
  new GrpcServer(provisioningCalls(pipe, clock), clock);
