import { changedOr, type Cell } from './cell.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Brings one managed resource from its observed to its desired state. */
export interface Reconciler<Want, Have, Step extends { do: string }> {
  readonly name: string;
  /** Delay in ms before a reconciler in the desired state observes again. */
  readonly recheckMs: number;
  /** Reads the observed state; changes nothing. */
  observe(signal: AbortSignal): Promise<Have>;
  /** Pure; an empty list means that the desired state is reached. */
  plan(want: Want, have: Have): readonly Step[];
  /** Applies one step; safe to repeat after a crash. */
  apply(step: Step, signal: AbortSignal): Promise<void>;
  /** Summary of the observed state for the debug log: small, and without secrets. */
  describe?(have: Have): Record<string, unknown>;
  /** Called after each pass with the failure that stopped it, or undefined. For reports only, not for decisions. */
  settled?(failure: unknown): void;
}

const firstRetryMs = 1000;
const maxRetryMs = 10 * 60_000;

/** Runs the loop: observe, plan, apply, observe again. A missed event or a crash costs time, never correctness. */
export async function converge<Want, Have, Step extends { do: string }>(
  reconciler: Reconciler<Want, Have, Step>,
  want: Cell<Want>,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let last: { goal: Want; plan: string } | undefined;
  let plan = '';
  let stuckAt = '';
  while (!signal.aborted) {
    const goal = want.get();
    const began = clock.now();
    let idleMs = 0;
    try {
      const have = await reconciler.observe(signal);
      const steps = reconciler.plan(goal, have);
      plan = JSON.stringify(steps);
      if (plan !== stuckAt) failures = 0; // progress since the last failure
      if (steps.length > 0 && last?.plan === plan && last.goal === goal) {
        throw new Error(`no progress: planned ${plan} twice`);
      }
      last = { goal, plan };
      for (const step of steps) {
        log.info(step.do, { by: reconciler.name, ...step });
        await reconciler.apply(step, signal);
        if (signal.aborted || want.get() !== goal) break; // the remaining steps belong to an outdated goal
      }
      if (steps.length === 0) {
        idleMs = reconciler.recheckMs;
        reconciler.settled?.(undefined);
      }
      log.debug('pass', {
        by: reconciler.name,
        observed: reconciler.describe?.(have),
        did: steps.map((step) => step.do),
        ms: Math.round(clock.now() - began),
        idleMs,
      });
    } catch (error) {
      if (signal.aborted) return;
      last = undefined;
      stuckAt = plan;
      idleMs = Math.min(firstRetryMs * 2 ** failures++, maxRetryMs);
      reconciler.settled?.(error);
      log.warn('will retry', { by: reconciler.name, idleMs, error });
    }
    if (want.get() !== goal) {
      failures = 0;
    } else if (idleMs > 0) {
      await changedOr(want, idleMs, clock, signal);
      if (want.get() !== goal) failures = 0; // failures of the old goal do not delay a new one
    }
  }
}
