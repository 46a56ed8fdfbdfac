import { ConnectError } from '@connectrpc/connect';
import { changedOr, pauseAfterFailure, retryAfterMs, type Cell, type Clock } from '@platform/kit';

const lookAgainMs = 5 * 60_000;

/** The error's Retry-After in ms; undefined: it has none. */
export const askedPauseMs = (error: unknown, clock: Clock): number | undefined =>
  error instanceof ConnectError ? retryAfterMs(error.metadata.get('retry-after'), clock.wall()) : undefined;

/**
 * Waits after a failed call of a loop that need not detect when the server is back: the poll detects it, and the others
 * follow it.
 */
export async function backOff(
  of: { failures: number; error: unknown; isReached: Cell<boolean>; clock: Clock; random: () => number },
  signal: AbortSignal,
): Promise<void> {
  const { failures, error, isReached, clock, random } = of;
  const askedMs = askedPauseMs(error, clock);
  const pause = pauseAfterFailure({ failures, wasReached: false, askedMs, random });
  if (isReached.get() || askedMs !== undefined) return clock.sleep(pause, signal);
  await changedOr(isReached, lookAgainMs + pause, clock, signal);
}
