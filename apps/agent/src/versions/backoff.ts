/** When a failed download may be retried. Failures count per file, not per check. */
export interface Held {
  key: string;
  failures: number;
  /** ms of the monotonic clock. */
  until: number;
  /** The server requested the delay, so a restored connection does not end it. */
  isAsked: boolean;
}

const firstMs = 60_000;
const longestMs = 6 * 3_600_000;

/** One minute, doubled up to six hours, with ±20 % jitter; never earlier than the server requested. */
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
