import { Cell, changedOr, type Clock } from '@platform/kit';

/**
 * Long poll: probes immediately and after each possible change, until there is news, `waitMs` have passed or `signal`
 * aborts. It never probes after an abort: a probe may take something, such as a job, for a caller that has left.
 *
 * @param watch - calls `wake` when the result of `probe` may have changed. @returns stops watching.
 * @param pollMs - also probe at this interval, if the notification of a change can be lost.
 * @param enter - takes a slot of a limiter if `waitMs` permits waiting; `evict` ends the wait with its error. @returns
 * releases the slot.
 * @returns what the last probe found.
 * @throws the reason of `signal` if it aborts before the first probe, and the error of `evict`.
 */
export async function longPoll<T>({
  probe,
  isNews,
  watch,
  waitMs,
  pollMs = Number.POSITIVE_INFINITY,
  enter,
  clock,
  signal,
}: {
  probe: () => Promise<T>;
  isNews: (found: T) => boolean;
  watch: (wake: () => void) => () => void;
  waitMs: number;
  pollMs?: number;
  enter?: (evict: (error: Error) => void) => () => void;
  clock: Clock;
  signal: AbortSignal;
}): Promise<T> {
  signal.throwIfAborted();
  const end = clock.now() + waitMs;
  /** Counts possible changes, so that a change during a probe is not missed. */
  const turns = new Cell(0);
  const wake = (): void => turns.update((turn) => turn + 1);
  let evicted: Error | undefined;
  const evict = (error: Error): void => {
    evicted = error;
    wake();
  };
  const leave = waitMs > 0 ? enter?.(evict) : undefined;
  const unwatch = watch(wake);
  try {
    for (;;) {
      const turn = turns.get();
      const found = await probe();
      const leftMs = end - clock.now();
      if (isNews(found) || !(leftMs > 0) || signal.aborted) return found;
      if (evicted) throw evicted;
      if (turns.get() === turn) await changedOr(turns, Math.min(leftMs, pollMs), clock, signal);
      if (signal.aborted) return found;
    }
  } finally {
    unwatch();
    leave?.();
  }
}
