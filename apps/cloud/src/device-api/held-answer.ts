import type { Clock } from '@platform/kit';
import { tooManyWait } from './seats.ts';

/**
 * Looks until there is news or the time is over: at once, and each time that something may have changed.
 *
 * @param watch - `wake` is called when it may be worth looking again. @returns ends it.
 * @param sit - where there is time to wait: takes a seat. @returns gives it back.
 * @throws PlatformError TOO_MANY_REQUESTS when it lost its seat.
 */
export async function heldAnswer<T>({
  look,
  isNews,
  watch,
  sit,
  waitMs,
  clock,
  signal,
}: {
  look: () => Promise<T>;
  isNews: (found: T) => boolean;
  watch: (wake: () => void) => () => void;
  sit: (sendAway: () => void) => () => void;
  waitMs: number;
  clock: Clock;
  signal: AbortSignal;
}): Promise<T> {
  const end = clock.now() + waitMs;
  const state = { isSentAway: false, wake: () => {} };
  const sendAway = (): void => {
    state.isSentAway = true;
    state.wake();
  };
  const leave = waitMs > 0 ? sit(sendAway) : undefined;
  try {
    for (;;) {
      const woken = Promise.withResolvers<void>();
      state.wake = woken.resolve;
      const unwatch = watch(woken.resolve);
      const done = new AbortController();
      try {
        const found = await look();
        const leftMs = end - clock.now();
        if (isNews(found) || !(leftMs > 0) || signal.aborted) return found;
        if (state.isSentAway) throw tooManyWait();
        await Promise.race([woken.promise, clock.sleep(leftMs, AbortSignal.any([done.signal, signal]))]);
      } finally {
        done.abort();
        unwatch();
      }
    }
  } finally {
    leave?.();
  }
}
