import type { Clock } from '@platform/kit';

/**
 * Looks until there is news or the time is over: at once, and each time that something may have changed.
 *
 * @param watch - `wake` is called when it may be worth looking again. @returns ends it.
 */
export async function heldAnswer<T>({
  look,
  isNews,
  watch,
  waitMs,
  clock,
  signal,
}: {
  look: () => Promise<T>;
  isNews: (found: T) => boolean;
  watch: (wake: () => void) => () => void;
  waitMs: number;
  clock: Clock;
  signal: AbortSignal;
}): Promise<T> {
  const end = clock.now() + waitMs;
  for (;;) {
    const woken = Promise.withResolvers<void>();
    const unwatch = watch(woken.resolve);
    const done = new AbortController();
    try {
      const found = await look();
      const leftMs = end - clock.now();
      if (isNews(found) || !(leftMs > 0) || signal.aborted) return found;
      await Promise.race([woken.promise, clock.sleep(leftMs, AbortSignal.any([done.signal, signal]))]);
    } finally {
      done.abort();
      unwatch();
    }
  }
}
