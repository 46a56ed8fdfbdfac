/** What is known about the time on a device whose clock may stop while it is switched off. */
export interface TimeEvidence {
  /** The latest instant that is proven to be in the past: the build time of the program, or the last stored time. */
  floor: number;
  /** The system's time. */
  system: number;
  /** Whether the system reports that a time server synchronizes its clock; undefined: it reports nothing. */
  isSynchronized?: boolean;
}

/** ms since 1970. */
export interface TrustedTime {
  now: number;
  /** False: `now` is only a lower bound. Do not use it to decide that something has not expired yet. */
  isTrusted: boolean;
}

const yearMs = 365 * 86_400_000;
const believableAheadMs = 5 * yearMs;
const believableSkewMs = 86_400_000;

/**
 * The best estimate of the current time. A clock behind the floor is wrong (1970 at boot). An unsynchronized clock that
 * is years ahead is not trusted, because it would expire everything at once.
 */
export function estimateTime({ floor, system, isSynchronized }: TimeEvidence): TrustedTime {
  if (system < floor) return { now: floor, isTrusted: false };
  if (isSynchronized !== true && system > floor + believableAheadMs) return { now: floor, isTrusted: false };
  return { now: system, isTrusted: isSynchronized === true };
}

/**
 * `heard`: the time that the other end of a connection reported. It moves an estimate forward, never back; it moves a
 * trusted clock by a day at most.
 */
export function withHeardTime(time: TrustedTime, heard: number | undefined): TrustedTime {
  if (heard === undefined || !(heard > time.now)) return time;
  if (time.isTrusted && heard > time.now + believableSkewMs) return time;
  return { now: heard, isTrusted: time.isTrusted };
}
