import type { Clock } from '@platform/kit';

/**
 * Instants that decide something: ms since 1970 as the wall clock said at the start, moved on by the monotonic clock alone.
 * Somebody who sets the wall clock neither ends every lease at once nor lets one live for hours.
 */
export type SteadyTime = { now(): number };

export function steadyTime(clock: Clock): SteadyTime {
  const ahead = clock.wall() - clock.now();
  return { now: () => ahead + clock.now() };
}
