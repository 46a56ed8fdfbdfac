import type { Clock } from '@platform/kit';

/** A check whose answer waits for a change, at most until its time is over. */
export type HeldCheck = {
  /** ms of the monotonic clock. */
  due: number;
  /** Its time is over, or the server stops. Called once, after which it is held no more. */
  release(): void;
};

/** Many thousand waiting checks with one timer among them: a timer and a signal each would take more memory than the rest. */
export type HeldChecks = {
  hold(check: HeldCheck): void;
  /** It was answered, or who asked is gone. */
  drop(check: HeldCheck): void;
};

/** Checks end up to this much late. */
const stepMs = 500;

export function heldChecks(clock: Clock, stop: AbortSignal): HeldChecks & { done: Promise<void> } {
  const bySlot = new Map<number, Set<HeldCheck>>();
  const slotOf = (due: number): number => Math.ceil(due / stepMs);
  const releaseUntil = (last: number): void => {
    for (const slot of bySlot.keys().toArray()) {
      if (slot > last) continue;
      const checks = bySlot.get(slot) ?? [];
      bySlot.delete(slot);
      for (const check of checks) check.release();
    }
  };
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(stepMs, stop);
      releaseUntil(Math.floor(clock.now() / stepMs));
    }
    releaseUntil(Number.POSITIVE_INFINITY);
  };
  return {
    hold(check) {
      if (stop.aborted) return check.release();
      const slot = slotOf(check.due);
      const checks = bySlot.get(slot) ?? new Set();
      bySlot.set(slot, checks);
      checks.add(check);
    },
    drop(check) {
      const slot = slotOf(check.due);
      const checks = bySlot.get(slot);
      checks?.delete(check);
      if (checks?.size === 0) bySlot.delete(slot);
    },
    done: run(),
  };
}
