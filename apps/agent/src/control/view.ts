import type { Cell, Clock } from '@platform/kit';
import type { SystemStatus } from '../system/system-status.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import type { Self } from '../link/request.ts';
import type { Spool } from '../logs/spool.ts';
import type { Operator } from '../versions/operator.ts';
import type { Context } from '../health/context.ts';

/** What the control socket shows and controls of a running agent. */
export interface AgentView extends Pick<Context, 'root' | 'wanted' | 'actual' | 'isReached' | 'conditions'> {
  self: Self;
  appAddress: string;
  /** What the agent does with the network; undefined: it does not manage it. */
  network: Cell<NetworkStatus | undefined>;
  /** The packages of the operating system; undefined: not known. */
  systemStatus: Cell<SystemStatus | undefined>;
  /** Undefined: without credentials no lines wait for upload. */
  spool: Spool | undefined;
  /** Its wall time is that of the management server where the clock of the machine is wrong. */
  clock: Clock;
  /** Corrects a recorded time if the clock was set since; undefined: unknown. */
  sinceOf: (noted: number) => number | undefined;
  operator: Operator;
  /** Ends this agent so that the version in bin/ starts. The machine server keeps running. */
  handOver: () => void;
}
