import type { Clock } from '@platform/kit';

/** After a reading, none begins for this many times as long as it took. */
const restFactor = 4;
const mostRestMs = 5_000;

/**
 * An expensive reading for many: one at a time, with a rest between two. Each answer is of a reading that began after the question.
 */
export function refreshed<T>(read: () => Promise<T>, clock: Clock, stop: AbortSignal): () => Promise<T> {
  const state: { running: Promise<unknown>; next: Promise<T> | undefined; restUntil: number } = {
    running: Promise.resolve(),
    next: undefined,
    restUntil: 0,
  };
  const readNext = async (): Promise<T> => {
    await state.running;
    const restMs = state.restUntil - clock.now();
    if (restMs > 0) await clock.sleep(restMs, stop);
    const began = clock.now();
    // Who asks from now on may have changed something since.
    state.next = undefined;
    const reading = read().finally(() => {
      const now = clock.now();
      state.restUntil = now + Math.min(mostRestMs, restFactor * (now - began));
    });
    state.running = reading.catch(() => {});
    return reading;
  };
  return () => (state.next ??= readNext());
}
