/** Resolves after `ms`, or at once when the signal is aborted. Removes its timer and its listener. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Monotonic time in milliseconds. */
export const now = (): number => performance.now();

/** Milliseconds since 1970. */
export const wall = (): number => Date.now();
