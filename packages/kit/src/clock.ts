/** The only source of time. Everything that waits or measures is given one, so that tests can own it. */
export interface Clock {
  /** Milliseconds of a clock that only goes forward; its zero means nothing. For durations and deadlines. */
  now(): number;
  /** Milliseconds since 1970. May jump, also backwards: only for stamps that people or other machines read. */
  wall(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. `Infinity` waits for the abort alone. */
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
 * @throws TimeoutError when `ms` passed first, even if `f` ignores its signal; else whatever `f` throws.
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
  work.catch(() => {}); // it may still fail after the time-out has been reported
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
