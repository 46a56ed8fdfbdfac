/** Maximum duration of a long poll: proxies and NAT devices drop an idle connection after 60 s. */
export const longestHoldMs = 55_000;

const earlyMs = 2_000;
const shortestMs = 200;

/** An answered check; all durations in ms. */
export interface AnsweredCheck {
  /** Requested duration of the long poll; 0: none. */
  waitMs: number;
  /** Time from the request to the response. */
  heldMs: number;
  /** The response differs from what the client knew. */
  isNews: boolean;
  /** Delay between two checks of a server without long polls. */
  pauseMs: number;
  /** In [0, 1). */
  random: () => number;
}

/** The response came well before the requested duration: something has changed on the server. */
export const isEarly = ({ waitMs, heldMs }: Pick<AnsweredCheck, 'waitMs' | 'heldMs'>): boolean =>
  waitMs > 0 && heldMs < waitMs - earlyMs;

/**
 * Delay before the next check: none if this server supports long polls, otherwise `pauseMs` ±5 %. The jitter spreads
 * machines that started together.
 */
export function pauseAfterAnswer({ waitMs, heldMs, isNews, pauseMs, random }: AnsweredCheck): number {
  if (waitMs > 0 && isNews) return shortestMs; // also limits a server that always reports changes
  return heldMs >= waitMs / 2 ? 0 : pauseMs * (0.95 + 0.1 * random());
}

const firstSpanMs = 1_000;
const longestSpanMs = 30_000;

/**
 * Delay before a failed call is retried: a random share of a span, so that a fleet does not reconnect at once. If the
 * server was reached before, the span starts at its maximum; otherwise it grows exponentially.
 *
 * @param failures - consecutive failures, including this one.
 * @param askedMs - delay that the server requested; the result is never shorter.
 * @param longestMs - maximum of the span.
 */
export function pauseAfterFailure(of: {
  failures: number;
  wasReached: boolean;
  askedMs?: number | undefined;
  longestMs?: number;
  random: () => number;
}): number {
  const { failures, wasReached, askedMs = 0, longestMs = longestSpanMs, random } = of;
  const span = wasReached ? longestMs : Math.min(firstSpanMs * 2 ** (failures - 1), longestMs);
  if (askedMs > 0) return askedMs + random() * Math.max(span, askedMs / 10);
  return Math.max(shortestMs, random() * span);
}

const longestAskedMs = 60 * 60_000;

/** The delay that `Retry-After` (seconds or an HTTP date) requests, in ms; undefined if none. `now`: ms since 1970. */
export function retryAfterMs(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return ms >= 0 ? Math.min(ms, longestAskedMs) : undefined;
}
