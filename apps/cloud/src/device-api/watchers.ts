import type { Clock } from '@platform/kit';

/** Who waits for a change of a part. `wake` may be called more often than something changed. */
export type Watchers = {
  /** From now on. @returns ends it. */
  watch(partId: string, wake: () => void): () => void;
  isWatched(partId: string): boolean;
  wake(partId: string): void;
  /** All of them; so many at once, then more, so that no stampede comes of it. */
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
