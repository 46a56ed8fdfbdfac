import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';

/** A POST with one protobuf message, of a path that is known for its checks. */
export type CheckRequest = { path: string; authorization: string; host: string; isSecure: boolean; body: Uint8Array };

/** A check without a report; what is longer has something to tell. */
export const longestCheck = 2_048;

/** Where the answer to a check goes. */
export type Reply = {
  readonly isGone: boolean;
  /** Who asks has proved who they are. */
  proven?(callerId: string): void;
  /** @param headers - names and values in turn. */
  send(status: number, headers: readonly string[], body: Uint8Array): void;
  /** Who asked is gone, or has its answer. */
  onEnd(then: () => void): void;
};

export const agentCheckPath = `/${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;

export const serverCheckPath = `/${RobotService.typeName}/${RobotService.method.config.name}`;

/** Calls that may be checks. */
export const checkPaths: readonly string[] = [agentCheckPath, serverCheckPath];
