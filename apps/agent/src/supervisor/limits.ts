import type { KeptLimits } from '../state-machines/kept-agent.ts';
import { agentStopSeconds } from '../install/unit.ts';

/** As in the agent's systemd unit. */
export const supervisionLimits: KeptLimits = {
  ready: 90_000,
  watchdog: 60_000,
  pause: 5_000,
  stop: agentStopSeconds * 1000,
  kill: 10_000,
};
