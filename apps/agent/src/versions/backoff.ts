/** When a failed download may be tried again: by what was to be fetched, not by how often it was looked for. */
export interface Held {
  key: string;
  failures: number;
  /** ms of the monotonic clock. */
  until: number;
  /** The server asked for it: a network that is back changes nothing. */
  isAsked: boolean;
}

const firstMs = 60_000;
const longestMs = 6 * 3_600_000;

/** A minute, doubling up to six hours, a fifth more or less by chance; never before the server said. */
export function heldAfter(
  before: Held | undefined,
  key: string,
  now: number,
  random: () => number,
  retryAfterMs = 0,
): Held {
  const failures = before?.key === key ? before.failures + 1 : 1;
  const span = Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.8 + 0.4 * random());
  return { key, failures, until: now + Math.max(span, retryAfterMs), isAsked: retryAfterMs > 0 };
}
