/**
 * The time by which sweeps delete data. A wall clock that jumps a year ahead must not delete everything. A wrong clock
 * looks the same as a server that was off. So this time advances with uptime. It accepts a jump ahead only after the
 * wall clock has kept pace with the monotonic clock for a day. If it lags, data is only kept longer.
 */
export type RetentionTime = {
  /** ms since 1970. */
  at: number;
  /** Both clocks at the last step. */
  wall: number;
  monotonic: number;
  /** Monotonic time since which the wall clock has kept pace. */
  steadySince: number;
};
export type Clocks = { wall: number; monotonic: number };

/** NTP corrections and short restarts do not count as jumps. */
export const toleranceMs = 10 * 60_000;
export const settleMs = 24 * 3_600_000;

/** @param at - stored by the previous process; undefined: nothing was stored. */
export const startOf = (at: number | undefined, { wall, monotonic }: Clocks): RetentionTime => ({
  at: at === undefined || wall <= at + toleranceMs ? wall : at,
  wall,
  monotonic,
  steadySince: monotonic,
});

export function advance(before: RetentionTime, { wall, monotonic }: Clocks): RetentionTime {
  const elapsed = monotonic - before.monotonic;
  const kept = Math.abs(wall - (before.wall + elapsed)) <= toleranceMs;
  const steadySince = kept ? before.steadySince : monotonic;
  const crept = before.at + elapsed;
  const isBelieved = wall <= crept + toleranceMs || monotonic - steadySince >= settleMs;
  return { at: isBelieved ? wall : crept, wall, monotonic, steadySince };
}

/** How far the wall clock is ahead of the retention time; 0: not held back. */
export const heldBackMs = ({ at, wall }: RetentionTime): number => Math.max(0, wall - at);
