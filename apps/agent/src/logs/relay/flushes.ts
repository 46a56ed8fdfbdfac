import type { Cell, Clock } from '@platform/kit';

/** What a power cut may take, at most. */
const flushMs = 1_000;

/**
 * Flushes a file soon after something was written, while no agent is there: then it is all that holds these lines. An agent puts them
 * into its spool, which it flushes, and twice would wear the flash twice. Where nothing is written there is no timer.
 *
 * @returns to be called when something was written that is not flushed.
 */
export function flushesWithoutAgent(of: {
  watchers: Cell<number>;
  flush: () => void;
  clock: Clock;
  /** The end of the relay. */
  signal: AbortSignal;
}): () => void {
  const { watchers, flush, clock, signal } = of;
  const soon = async (): Promise<void> => {
    await clock.sleep(flushMs, signal);
    while (watchers.get() > 0 && !signal.aborted) await watchers.changed(signal);
    if (!signal.aborted) flush();
  };
  return () => void soon();
}
