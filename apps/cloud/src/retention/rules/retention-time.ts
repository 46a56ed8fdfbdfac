/**
 * The time by which sweeps remove things. A wall clock that jumps a year ahead must not remove everything, and nobody can tell a
 * wrong clock from a server that was off. Time therefore advances with uptime at once, and takes a jump ahead only when the wall
 * clock has kept step with the monotonic clock for a day. Time that lags only keeps things longer.
 */
export type RetentionTime = {
  /** ms since 1970. */
  at: number;
  /** Both clocks at the last step. */
  wall: number;
  monotonic: number;
  /** Monotonic time since which the wall clock has kept step. */
  steadySince: number;
};
export type Clocks = { wall: number; monotonic: number };

/** Corrections of NTP and short restarts are no jump. */
export const toleranceMs = 10 * 60_000;
export const settleMs = 24 * 3_600_000;

/** @param at - as stored by the process before; undefined: nothing was stored. */
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

/** How far the wall clock is ahead of what sweeps go by; 0: not held back. */
export const heldBackMs = ({ at, wall }: RetentionTime): number => Math.max(0, wall - at);
