import type { Clock } from '@platform/kit';

/**
 * Time for leases and deadlines: ms since 1970. It starts at the wall clock's time and advances with the monotonic
 * clock. Setting the wall clock therefore neither expires all leases nor extends them by hours.
 */
export type SteadyTime = { now(): number };

export function steadyTime(clock: Clock): SteadyTime {
  const ahead = clock.wall() - clock.now();
  return { now: () => ahead + clock.now() };
}
