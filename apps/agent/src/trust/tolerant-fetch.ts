import type { Clock } from '@platform/kit';
import { clockTolerantFetch } from '@platform/kit/node';
import type { System } from '../install/system.ts';
import { isClockSynchronized, type ProvenTime } from './proven-time.ts';

/**
 * The fetch of everything that this agent calls: a wrong clock keeps it from no server that proves who it is.
 *
 * @param refuted - told with each proof: the time that it is, when the clock of this machine cannot be right; else undefined.
 */
export const tolerantFetch = (of: {
  clock: Clock;
  system: System;
  proven: ProvenTime;
  refuted?: (time: number | undefined) => void;
}): typeof fetch =>
  clockTolerantFetch({
    clock: of.clock,
    env: process.env,
    floor: of.proven.floor,
    isSynchronized: () => isClockSynchronized(of.system),
    proven: (time, isClockRefuted) => {
      of.proven.prove(time);
      of.refuted?.(isClockRefuted ? time : undefined);
    },
  });
