import { isStopMessage, watchdogVariable } from './messages.ts';
import type { Supervisor } from '../os/supervisor.ts';

/** The supervisor that started this agent. */
export interface ParentSupervisor extends Supervisor {
  /** Aborts when the supervisor requests a stop. */
  readonly stopped: AbortSignal;
}

/**
 * Returns undefined if no supervisor started this process. Removes the variable from `env`, which children inherit.
 *
 * @param lost - called when the supervisor has died: the next one starts its own agent.
 */
export function parentSupervisor(
  env: Record<string, string | undefined>,
  lost: () => void,
): ParentSupervisor | undefined {
  const watchdogMs = Number(env[watchdogVariable]);
  delete env[watchdogVariable];
  const hasChannel = process.send !== undefined;
  if (!hasChannel || !(watchdogMs > 0)) return undefined;
  const stop = new AbortController();
  process.on('message', (message: unknown) => {
    if (isStopMessage(message)) stop.abort(new Error('stopped by its supervisor'));
  });
  process.once('disconnect', lost);
  return {
    watchdogMs,
    stopped: stop.signal,
    notify: (state) => void (process.connected && process.send?.({ tell: state })),
  };
}
