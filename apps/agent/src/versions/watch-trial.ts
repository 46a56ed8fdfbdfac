import { changedOr, type Cell, type Clock } from '@platform/kit';
import type { Actual, Wanted } from '../state/state.ts';
import { unreached } from '../state/trial-file.ts';
import { agentTrialMs, evaluateTrial, serverSteadyMs, type Evidence, type TrialLimits } from './plans/trial-outcome.ts';
import type { ProgramStore } from './program-store.ts';
import type { Program } from './layout.ts';
import { sliceOf } from './reconciler-state.ts';
import type { Context } from '../health/context.ts';

const retryMs = 30_000;

export interface TrialParts extends Pick<Context, 'actual' | 'clock' | 'log'> {
  program: Program;
  store: ProgramStore;
  /** Undefined: the version on trial is not the running one. */
  evidence: () => Omit<Evidence, 'now' | 'doneSince'> | undefined;
  limits: () => TrialLimits;
  /** Cells whose changes may change the evidence. */
  watched: readonly Cell<unknown>[];
  /** Called after the version in use was confirmed or rolled back. */
  ended: (how: 'proven' | 'failed') => Promise<void>;
}

/** Watches the version on trial of one program until it passes or fails the health check; then the next. */
export async function watchTrial(parts: TrialParts, signal: AbortSignal): Promise<void> {
  const { program, store, actual, clock, log } = parts;
  let done: { key: string; since: number } | undefined;
  while (!signal.aborted) {
    const { trial } = actual.get()[sliceOf[program]];
    const seen = trial && parts.evidence();
    let until = Infinity;
    if (seen) {
      const isDone = seen.duties.every((duty) => duty.isDone);
      const key = `${trial.to} ${seen.since}`;
      if (!isDone || done?.key !== key) done = isDone ? { key, since: clock.now() } : undefined;
      const outcome = evaluateTrial({ ...seen, now: clock.now(), doneSince: done?.since ?? null }, parts.limits());
      const open = seen.duties.filter((duty) => !duty.isDone).map((duty) => duty.what);
      log.debug('pass', {
        by: `${program}-trial`,
        observed: { id: trial.to, starts: trial.starts, open },
        did: [outcome.at],
      });
      if (outcome.at === 'waiting') until = outcome.until;
      else {
        try {
          if (outcome.at === 'proven') {
            await store.confirm();
            log.info('the version passed the health check', { id: trial.to, starts: trial.starts });
          } else {
            const { reason, code } = outcome;
            await store.revert(reason, code);
            log.error('the version has failed: the one before it is back', {
              id: trial.to,
              back: trial.from,
              reason,
            });
          }
          await parts.ended(outcome.at);
        } catch (error) {
          if (signal.aborted) return;
          log.warn('the end of a trial was not written', { error });
        }
        until = clock.now() + retryMs;
      }
    } else {
      done = undefined;
    }
    await changedOr([actual, ...parts.watched], until - clock.now(), clock, signal);
  }
}

/** A new server must be ready in time and then stay up for some minutes. */
export function serverEvidence(actual: Actual): ReturnType<TrialParts['evidence']> {
  const { server, install } = actual;
  if (server.running === null || server.running !== install.trial?.to || server.since === null) return undefined;
  return { since: server.since, duties: [{ code: 'NOT_READY', what: 'it is not ready', isDone: server.url !== null }] };
}

const earlierMs = 1_000;

export const serverLimits = (wanted: Wanted): TrialLimits => ({
  // Decide before the start timeout: the restart at the timeout removes the evidence.
  withinMs: wanted.settings.startTimeoutMs - earlierMs,
  steadyMs: serverSteadyMs,
});

export interface AgentHealth {
  /** Reported to the supervisor of this agent. */
  isReady: boolean;
  /** Watchdog notifications sent. */
  ticks: number;
}

const neededTicks = 3;

/** Time of the agent's trial: it begins anew when the agent has ended its hotspot, and does not pass before. */
export function trialTime(of: { startedAt: number; isOfflineByHotspot: Cell<boolean>; clock: Clock }) {
  const { startedAt, isOfflineByHotspot, clock } = of;
  let begin = startedAt;
  return {
    begin: (): number => (isOfflineByHotspot.get() ? clock.now() : begin),
    async follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const was = isOfflineByHotspot.get();
        await isOfflineByHotspot.changed(signal);
        if (was && !isOfflineByHotspot.get()) begin = clock.now();
      }
    },
  };
}

interface AgentObservation {
  self: string | null;
  since: number;
  health: AgentHealth;
  isReached: boolean;
  /** Optional tasks that fail since this version runs. */
  blamed: readonly string[];
}

/**
 * A new agent must be ready, alive and in charge of the server. It must reach the management server if the previous
 * version did, and run the optional tasks that ran before.
 */
export function agentEvidence(
  { self, since, health, isReached, blamed }: AgentObservation,
  actual: Actual,
): ReturnType<TrialParts['evidence']> {
  const { trial } = actual.agentInstall;
  if (!trial || trial.to !== self) return undefined;
  const { at } = actual.server;
  const isInCharge = at !== 'stopped' || actual.install.installed === null;
  return {
    since,
    duties: [
      { code: 'NOT_READY', what: 'it did not get ready', isDone: health.isReady },
      { code: 'WATCHDOG_MISSED', what: 'its watchdog was not fed', isDone: health.ticks >= neededTicks },
      { code: 'SERVER_NOT_ADOPTED', what: 'it did not take the machine server over', isDone: isInCharge },
      { code: 'CLOUD_UNREACHED', what: unreached, isDone: trial.needs === 'local' || isReached },
      { code: 'AGENT_TASK_FAILED', what: `its task ${blamed.join(', ')} failed`, isDone: blamed.length === 0 },
    ],
  };
}

export const agentLimits = (): TrialLimits => ({ withinMs: agentTrialMs, steadyMs: 0 });
