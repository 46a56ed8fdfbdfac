import type { Clock } from '@platform/kit';
import { tooManyWait } from './seats.ts';

/**
 * Long poll: looks immediately and after each possible change, until there is news or the time is over.
 *
 * @param watch - calls `wake` when looking again may be worthwhile. @returns stops watching.
 * @param sit - takes a slot of the concurrency limiter if `waitMs` permits waiting. @returns releases it.
 * @throws PlatformError TOO_MANY_REQUESTS if newer calls took its slot.
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
