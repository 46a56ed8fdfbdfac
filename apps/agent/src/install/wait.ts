import type { Programs } from '../os/ports.ts';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import type { Clock } from '@platform/kit';
import { controlOf } from '../control/client.ts';
import { agentUnit } from './unit.ts';

const lookMs = 500;
const unitLookMs = 5_000;
/** One for the start, three on trial, one for the rollback: after one more restart, waiting is useless. */
const mostRestarts = 6;
const waitLimits = { runsMs: 90_000, reachedMs: 30_000 } as const;

export interface Awaited {
  /** Status of an agent of this root; undefined: none answers. */
  status: AgentStatus | undefined;
  isRunning: boolean;
  isReached: boolean;
  /** It was restarted several times without an answer. */
  isCrashing: boolean;
  /** Why waiting longer is useless; empty: no problem. */
  problem: string;
}

/**
 * Waits until the agent of this version answers for the root and, if `isOnline`, has reached the management server.
 * Returns early if it is clear that it will not. Never throws.
 */
export async function awaitAgent(
  { root, version, isOnline }: { root: string; version: string; isOnline: boolean },
  { system, clock }: { system: Programs; clock: Clock },
): Promise<Awaited> {
  const control = controlOf(root, clock);
  const runsBy = clock.now() + waitLimits.runsMs;
  const restartsAtFirst = await restartsOf(system);
  let reachedBy = Number.POSITIVE_INFINITY;
  let unitLookAt = clock.now() + unitLookMs;
  let last: Awaited = { status: undefined, isRunning: false, isReached: false, isCrashing: false, problem: '' };
  while (clock.now() < Math.min(runsBy, reachedBy)) {
    const status = await control.status().catch(() => undefined);
    last = { status, isRunning: false, isReached: false, isCrashing: false, problem: '' };
    if (status) {
      const isRunning = status.agent.version === version;
      last = { status, isRunning, isReached: isRunning && status.cloud.is_reached, isCrashing: false, problem: '' };
      if (isRunning && (!isOnline || last.isReached)) return last;
      if (isRunning) reachedBy = Math.min(reachedBy, clock.now() + waitLimits.reachedMs);
      const bad = status.programs.agent.quarantined.find((one) => one.version === version);
      if (!isRunning && bad) return { ...last, problem: `${bad.reason}; ${status.agent.version} is back` };
    }
    if (clock.now() >= unitLookAt) {
      unitLookAt = clock.now() + unitLookMs;
      const restarts = (await restartsOf(system)) - restartsAtFirst;
      if (!status && restarts >= mostRestarts) return { ...last, isCrashing: true, problem: 'it ends again and again' };
    }
    await clock.sleep(lookMs);
  }
  return last.isRunning ? last : { ...last, problem: `it does not answer after ${waitLimits.runsMs / 1000} s` };
}

const restartsOf = async (system: Programs): Promise<number> =>
  Number((await system.run('systemctl', 'show', '--property=NRestarts', '--value', agentUnit)).text) || 0;
