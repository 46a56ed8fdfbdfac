import type { Clock } from '@platform/kit';

/** A check whose response waits for a change or its due time. */
export type HeldCheck = {
  /** ms of monotonic time. */
  due: number;
  /** Called once, at the due time or when the server stops. The check is no longer held then. */
  release(): void;
};

/** One timer for many thousand waiting checks. A timer and a signal for each would take more memory than the rest. */
export type HeldChecks = {
  hold(check: HeldCheck): void;
  /** Removes a check that was answered or whose client disconnected. */
  drop(check: HeldCheck): void;
  /** How many are held now. */
  count(): number;
};

/** Upper bound of how late checks end. */
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
    count: () => bySlot.values().reduce((sum, checks) => sum + checks.size, 0),
    done: run(),
  };
}
