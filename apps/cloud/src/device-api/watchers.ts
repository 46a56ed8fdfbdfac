import type { Clock } from '@platform/kit';

/** Callbacks that wait for a change of a part. `wake` may run more often than the part changes. */
export type Watchers = {
  /** @returns stops watching. */
  watch(partId: string, wake: () => void): () => void;
  isWatched(partId: string): boolean;
  wake(partId: string): void;
  /** Wakes all matching parts in batches, so that they do not all request at once. */
  wakeMany(isMeant?: (partId: string) => boolean): void;
};

const wokenAtOnce = 250;
const wakeEveryMs = 250;

export function watchers(clock: Clock, stop: AbortSignal): Watchers {
  const watching = new Map<string, Set<() => void>>();
  const wake = (partId: string): void => {
    for (const one of watching.get(partId) ?? []) one();
  };
  const wakeInTurn = async (partIds: readonly string[]): Promise<void> => {
    for (let n = 0; n < partIds.length; n++) {
      if (n > 0 && n % wokenAtOnce === 0) await clock.sleep(wakeEveryMs, stop);
      wake(partIds[n] ?? '');
    }
  };
  return {
    wake,
    wakeMany: (isMeant = () => true) => void wakeInTurn([...watching.keys()].filter(isMeant)),
    isWatched: (partId) => watching.has(partId),
    watch(partId, woken) {
      const set = watching.get(partId) ?? new Set();
      watching.set(partId, set);
      set.add(woken);
      return () => {
        set.delete(woken);
        if (set.size === 0 && watching.get(partId) === set) watching.delete(partId);
      };
    },
  };
}
