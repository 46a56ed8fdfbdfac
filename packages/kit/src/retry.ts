import type { Clock } from './clock.ts';

export interface RetryOptions {
  clock: Clock;
  signal: AbortSignal;
  /** `{ afterMs }`: retryable after this delay at the earliest. */
  isRetryable: (error: unknown) => boolean | { afterMs: number };
  /** Number of attempts, including the first. Default 5; Infinity: until the signal. */
  attempts?: number;
  firstMs?: number;
  maxMs?: number;
  /** In [0, 1). */
  random?: () => number;
}

/**
 * Calls `f` (attempt 1, 2, …) until it succeeds. The delay is a random share of a doubling span ("full jitter"): a
 * fleet that failed together must not retry at once.
 *
 * @throws the last error of `f`, or the abort reason when the signal ended a wait.
 */
export async function retry<T>(
  f: (attempt: number, signal: AbortSignal) => Promise<T>,
  { clock, signal, isRetryable, attempts = 5, firstMs = 500, maxMs = 60_000, random = Math.random }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await f(attempt, signal);
    } catch (error) {
      if (signal.aborted || attempt >= attempts) throw error;
      const again = isRetryable(error);
      if (!again) throw error;
      const span = random() * Math.min(firstMs * 2 ** (attempt - 1), maxMs);
      await clock.sleep(again === true ? span : Math.max(again.afterMs, span), signal);
    }
  }
}
