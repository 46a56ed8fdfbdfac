import type { Reconciler } from '@platform/kit';
import { plan, type Goal, type Have, type Step } from './plans/update-plan.ts';
import { downloadDesired } from './download-step.ts';
import { observeVersion } from './observe-program.ts';
import {
  failureOf,
  initialState,
  publishStatus,
  type ProgramVersionParts,
  type VersionState,
} from './reconciler-state.ts';

/** Used while something is pending: a maintenance window, a delayed download, a trial. */
const pendingRecheckMs = 30_000;
/** Used when nothing is pending: a user may have changed the files. Each check opens ten files. */
const settledRecheckMs = 5 * 60_000;

/** A reconciler with calls for the other loops. */
export interface ProgramVersion extends Reconciler<Goal, Have, Step> {
  /** A failed download waits for its retry. */
  isHeld(): boolean;
  /** Allows an immediate retry; with `reached`, only if the server set no retry time. */
  forgetFailures(because: 'asked' | 'reached'): void;
  /** Publishes the observed state after a change by other code. */
  refresh(): Promise<void>;
}

/** Downloads the desired version of one program and makes it the one that starts next. */
export function programVersion(parts: ProgramVersionParts): ProgramVersion {
  const state = initialState();
  const observe = (signal: AbortSignal) => observeVersion(parts, state, signal);
  return {
    name: `${parts.program}-version`,
    get recheckMs() {
      return state.isSettled ? settledRecheckMs : pendingRecheckMs;
    },
    observe,
    describe: ({ versions, linked, running, trial, leftovers, isHeldBack, mayRestart: isFree }) => ({
      versions: versions.map(({ id }) => id),
      linked,
      running,
      desired: state.seen.desired,
      revision: state.seen.revision,
      trial: trial?.to,
      leftovers: leftovers.length,
      isHeldBack,
      mayRestart: isFree,
    }),
    plan,
    apply: (step, signal) => applyStep(parts, state, step, signal),
    settled: (error) => recordOutcome(parts, state, error),
    isHeld: () => state.held !== undefined,
    forgetFailures: (because) => {
      if (because === 'asked' || state.held?.isAsked !== true) state.held = undefined;
    },
    refresh: async () => void (await observe(new AbortController().signal)),
  };
}

async function applyStep(
  parts: ProgramVersionParts,
  state: VersionState,
  step: Step,
  signal: AbortSignal,
): Promise<void> {
  const { store, goal } = parts;
  switch (step.do) {
    case 'download':
      return downloadDesired(parts, state, step, signal);
    case 'activate':
      return store.activate(step.id, {
        clearance: goal.get().clearance,
        needs: parts.wasReached() ? 'cloud' : 'local',
      });
    case 'restart':
      return parts.restart(step.to);
    case 'remove':
      return store.remove(step.id);
    case 'forget':
      return store.forget(step.part);
  }
}

/** Publishes the end of a pass. A success clears the failure of an earlier step only. */
function recordOutcome(parts: ProgramVersionParts, state: VersionState, error: unknown): void {
  if (error !== undefined) {
    state.failure = failureOf(error, state.failure, parts.clock.wall());
    state.isOfStep = true;
    publishStatus(parts, { failure: state.failure });
  } else if (state.isOfStep) {
    state.failure = undefined;
    state.isOfStep = false;
    publishStatus(parts, { failure: undefined });
  }
  if (error === undefined) publishStatus(parts, { look: state.seen });
  if (state.isOfFresh) publishStatus(parts, { isChecked: true });
}
