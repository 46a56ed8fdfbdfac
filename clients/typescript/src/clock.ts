/** Waits; resolves at once when the signal is aborted. Leaves neither timer nor listener behind. */
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

/** Milliseconds that only go forward. */
export const now = (): number => performance.now();

/** Milliseconds since 1970. */
export const wall = (): number => Date.now();
