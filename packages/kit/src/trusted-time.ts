/** What is known about the time on a device that may have no clock of its own while it is switched off. */
export interface TimeEvidence {
  /** The latest instant that is proven to be in the past: the age of the program, the last time that was stored. */
  floor: number;
  /** What the system says now. */
  system: number;
  /** The system itself says that its clock follows a time server; undefined: it does not say. */
  isSynchronized?: boolean;
}

/** ms since 1970. */
export interface TrustedTime {
  now: number;
  /** False: at least this late. Nothing may be called "not expired yet" by it. */
  isTrusted: boolean;
}

const yearMs = 365 * 86_400_000;
const believableAheadMs = 5 * yearMs;
const believableSkewMs = 86_400_000;

/**
 * The best estimate of now. A clock behind the floor stands wrong (1970 at boot); one that is years ahead is not believed
 * by itself, because it would expire everything at once.
 */
export function estimateTime({ floor, system, isSynchronized }: TimeEvidence): TrustedTime {
  if (system < floor) return { now: floor, isTrusted: false };
  if (isSynchronized !== true && system > floor + believableAheadMs) return { now: floor, isTrusted: false };
  return { now: system, isTrusted: isSynchronized === true };
}

/**
 * `heard`: what the other end of a connection said that the time is. It moves an estimate forward, never back; against a
 * trusted clock it counts for a day at most.
 */
export function withHeardTime(time: TrustedTime, heard: number | undefined): TrustedTime {
  if (heard === undefined || !(heard > time.now)) return time;
  if (time.isTrusted && heard > time.now + believableSkewMs) return time;
  return { now: heard, isTrusted: time.isTrusted };
}
