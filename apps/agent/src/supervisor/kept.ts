import { isStopWord, watchdogVariable } from './words.ts';
import type { Supervisor } from '../os/supervisor.ts';

/** The keeper that started this agent. */
export interface Keeper extends Supervisor {
  /** Aborts when the keeper wants the agent to stop. */
  readonly stopped: AbortSignal;
}

/**
 * Undefined when no keeper started this process. Takes its variable out of `env`, which children get.
 *
 * @param lost - called when the keeper has died: the next one starts an agent of its own.
 */
export function keeperOf(env: Record<string, string | undefined>, lost: () => void): Keeper | undefined {
  const watchdogMs = Number(env[watchdogVariable]);
  delete env[watchdogVariable];
  const hasChannel = process.send !== undefined;
  if (!hasChannel || !(watchdogMs > 0)) return undefined;
  const stop = new AbortController();
  process.on('message', (message: unknown) => {
    if (isStopWord(message)) stop.abort(new Error('stopped by its keeper'));
  });
  process.once('disconnect', lost);
  return {
    watchdogMs,
    stopped: stop.signal,
    tell: (state) => void (process.connected && process.send?.({ tell: state })),
  };
}
