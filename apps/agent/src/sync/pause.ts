import { ConnectError } from '@connectrpc/connect';
import { changedOr, type Cell, type Clock } from '@platform/kit';
import { retryAfterMs } from './link.ts';

const firstSpanMs = 1_000;
const longestSpanMs = 30_000;
const shortestMs = 200;
const lookAgainMs = 5 * 60_000;

/**
 * How long to wait before a failed call is made again. A random share of a span, so that a fleet that lost its server
 * in one moment does not come back in one: the span is wide at once where the server was reached before, and grows
 * where it never was.
 *
 * @param failures - in a row, this one included.
 * @param askedMs - what the server itself asked for; the pause is never shorter.
 */
export function pauseMs(of: {
  failures: number;
  wasReached: boolean;
  askedMs?: number | undefined;
  random: () => number;
}): number {
  const { failures, wasReached, askedMs = 0, random } = of;
  const span = wasReached ? longestSpanMs : Math.min(firstSpanMs * 2 ** (failures - 1), longestSpanMs);
  if (askedMs > 0) return askedMs + random() * Math.max(span, askedMs / 10);
  return Math.max(shortestMs, random() * span);
}

/** What the error says about when to come again, in ms; undefined: nothing. */
export const askedPauseMs = (error: unknown, clock: Clock): number | undefined =>
  error instanceof ConnectError ? retryAfterMs(error.metadata, clock.wall()) : undefined;

/**
 * Waits after a failed call of a loop that need not find out by itself when the cloud is back: the poll does that, and
 * the others follow it.
 */
export async function backOff(
  of: { failures: number; error: unknown; isReached: Cell<boolean>; clock: Clock; random: () => number },
  signal: AbortSignal,
): Promise<void> {
  const { failures, error, isReached, clock, random } = of;
  const askedMs = askedPauseMs(error, clock);
  const pause = pauseMs({ failures, wasReached: false, askedMs, random });
  if (isReached.get() || askedMs !== undefined) return clock.sleep(pause, signal);
  await changedOr(isReached, lookAgainMs + pause, clock, signal);
}
