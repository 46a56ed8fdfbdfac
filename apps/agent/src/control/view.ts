import type { Cell } from '@platform/kit';
import type { Actual, Wanted } from '../state/state.ts';
import type { Self } from '../link/request.ts';
import type { Spool } from '../logs/spool.ts';
import type { Troubles } from '../health/troubles.ts';
import type { Operator } from '../versions/operator.ts';

/** What the control socket shows and moves of a running agent. */
export interface AgentView {
  self: Self;
  appAddress: string;
  root: string;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  isReached: Cell<boolean>;
  spool: Spool;
  troubles: Troubles;
  /** A time that was noted, as it is told now; undefined: nobody knows. */
  sinceOf: (noted: number) => number | undefined;
  operator: Operator | undefined;
  /** Ends this agent so that the version that bin/ leads to is started; the machine server goes on meanwhile. */
  handOver: () => void;
}
