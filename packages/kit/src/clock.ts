/** The only source of time. Code that waits or measures gets it as a parameter, so that tests control the time. */
export interface Clock {
  /** Monotonic time in ms with an arbitrary zero. For durations and deadlines. */
  now(): number;
  /** ms since 1970. May jump, also backwards: use it only for timestamps that users or other hosts read. */
  wall(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. `Infinity` waits until the abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export class TimeoutError extends Error {
  readonly ms: number;
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`);
    this.name = 'TimeoutError';
    this.ms = ms;
  }
}

/**
 * Runs `f` with a signal that aborts after `ms` or with `signal`.
 *
 * @throws TimeoutError when `ms` passed first, even if `f` ignores its signal; otherwise whatever `f` throws.
 */
export async function within<T>(
  ms: number,
  { what, clock, signal }: { what: string; clock: Clock; signal?: AbortSignal },
  f: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const end = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  const timer = new AbortController();
  const work = f(stop.signal);
  work.catch(() => {}); // it may still fail after the timeout was reported
  try {
    const late = clock.sleep(ms, timer.signal).then((): never | Promise<never> => {
      if (timer.signal.aborted) return new Promise<never>(() => {});
      const error = new TimeoutError(what, ms);
      stop.abort(error);
      throw error;
    });
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    signal?.removeEventListener('abort', end);
  }
}
