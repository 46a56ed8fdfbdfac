import type { AgentStatus } from '@platform/contract/agent-status';
import type { Clock } from '@platform/kit';
import { controlOf } from '../control/client.ts';

const lookMs = 500;
export const waitLimits = { runsMs: 90_000, reachedMs: 30_000 } as const;

/**
 * Waits until the agent of this version answers for the root and, if `isOnline`, until it has reached the management server.
 * Answers with its last status; undefined: it never answered. Never throws.
 */
export async function awaitAgent(
  { root, version, isOnline }: { root: string; version: string; isOnline: boolean },
  clock: Clock,
): Promise<AgentStatus | undefined> {
  const control = controlOf(root, clock);
  const runsBy = clock.now() + waitLimits.runsMs;
  let reachedBy = Number.POSITIVE_INFINITY;
  let last: AgentStatus | undefined;
  while (clock.now() < Math.min(runsBy, reachedBy)) {
    const status = await control.status().catch(() => undefined);
    last = status ?? last;
    if (status?.agent.version === version) {
      if (!isOnline || status.cloud.is_reached) return status;
      reachedBy = Math.min(reachedBy, clock.now() + waitLimits.reachedMs);
    }
    await clock.sleep(lookMs);
  }
  return last;
}
