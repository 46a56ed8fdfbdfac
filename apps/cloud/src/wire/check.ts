import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';

/** A POST with one protobuf message to one of `checkPaths`. */
export type CheckRequest = {
  path: string;
  authorization: string;
  host: string;
  isSecure: boolean;
  /** IP address of the client. */
  address: string;
  body: Uint8Array;
};

/** Upper bound in bytes for a check without a report. Longer requests carry a report. */
export const longestCheck = 2_048;

/** Where the response to a check goes. */
export type Reply = {
  readonly isGone: boolean;
  /** The caller is authenticated. */
  proven?(callerId: string): void;
  /** @param headers - alternating names and values. */
  send(status: number, headers: readonly string[], body: Uint8Array): void;
  /** Calls `then` when the response is sent or the client has disconnected. */
  onEnd(then: () => void): void;
};

export const agentCheckPath = `/${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;

export const serverCheckPath = `/${RobotService.typeName}/${RobotService.method.config.name}`;

/** Methods that the fast path can answer. */
export const checkPaths: readonly string[] = [agentCheckPath, serverCheckPath];
