import type { Cell, Clock } from '@platform/kit';

/** The most recent output that a power cut may lose, at most. */
const flushMs = 1_000;

/**
 * Flushes a file soon after a write while no agent is connected: then the file is the only copy of these lines. An
 * agent puts them into its spool and flushes that; flushing both would wear the flash twice. Without writes there is no
 * timer.
 *
 * @returns the function to call after a write that is not flushed.
 */
export function flushesWithoutAgent(of: {
  watchers: Cell<number>;
  flush: () => void;
  clock: Clock;
  /** Aborts when the relay ends. */
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
