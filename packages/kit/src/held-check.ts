/**
 * How long an answer may be held back while nothing changes: below the minute after which proxies and address translators
 * give a silent connection up.
 */
export const longestHoldMs = 55_000;

const earlyMs = 2_000;
const shortestMs = 200;

/** Of a check that was answered, all in ms. */
export interface AnsweredCheck {
  /** How long the server was asked to hold its answer; 0: not at all. */
  waitMs: number;
  /** From the question to the answer. */
  heldMs: number;
  /** The answer was not what the asker knew. */
  isNews: boolean;
  /** Between two checks of a server that does not hold its answers. */
  pauseMs: number;
  /** In [0, 1). */
  random: () => number;
}

/** It came well before its time: something has changed over there. */
export const isEarly = ({ waitMs, heldMs }: Pick<AnsweredCheck, 'waitMs' | 'heldMs'>): boolean =>
  waitMs > 0 && heldMs < waitMs - earlyMs;

/**
 * How long to wait before the next check: not at all where this server holds answers back, else `pauseMs`, ±5 %, so that
 * machines that started together drift apart.
 */
export function pauseAfterAnswer({ waitMs, heldMs, isNews, pauseMs, random }: AnsweredCheck): number {
  if (waitMs > 0 && isNews) return shortestMs; // also for a server that has news all the time
  return heldMs >= waitMs / 2 ? 0 : pauseMs * (0.95 + 0.1 * random());
}

const firstSpanMs = 1_000;
const longestSpanMs = 30_000;

/**
 * How long to wait before a failed call is made again. A random share of a span, so that a fleet that lost its server
 * in one moment does not come back in one: the span is wide at once where the server was reached before, and grows
 * where it never was.
 *
 * @param failures - in a row, this one included.
 * @param askedMs - what the server itself asked for; the pause is never shorter.
 * @param longestMs - the span at its widest.
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

/** What `Retry-After` (seconds or an HTTP date) asks for, in ms; undefined: nothing. `now`: ms since 1970. */
export function retryAfterMs(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return ms >= 0 ? Math.min(ms, longestAskedMs) : undefined;
}
