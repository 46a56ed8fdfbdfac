import type { Clock } from '@platform/kit';

/** After a read, none starts for this many times its duration. */
const restFactor = 4;
const mostRestMs = 5_000;

/**
 * Shares an expensive read among many callers: one at a time, with a pause in between. Each result is from a read that
 * began after the request.
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
    // Later callers need a new read, because data may have changed since this one began.
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
