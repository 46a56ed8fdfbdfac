import { longestLifeMs, sourceWall, type Clock } from '@platform/kit';
import type { Disk, Programs } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';

const file = 'state/proven-time.json';
const saveEveryMs = 6 * 3_600_000;

/** The latest time from an authenticated server or a time server. It is stored across restarts of the agent. */
export interface ProvenTime {
  /** ms since 1970, a lower bound of the current time: never before this program was built. */
  floor: () => number;
  prove: (time: number) => void;
}

export const isPossible = (ms: number): boolean => ms > sourceWall && ms < sourceWall + longestLifeMs;

/** 0: no time is stored, or it is not plausible. */
export async function readProven(disk: Disk): Promise<number> {
  const { value = 0 } = await readChecked(disk, file, (json) => Number((json as Record<string, unknown>)['proven']));
  return isPossible(value) ? value : 0;
}

/** Ignores errors: a failure only lowers the floor after the next start. */
export const writeProven = (disk: Disk, time: number): Promise<void> =>
  writeChecked(disk, file, { proven: Math.floor(time) }).catch(() => {});

export async function openProvenTime(disk: Disk, clock: Pick<Clock, 'now'>): Promise<ProvenTime> {
  // The floor advances with the monotonic clock, so certificates also expire while this agent runs.
  let [proven, at] = [Math.max(sourceWall, await readProven(disk)), clock.now()];
  const floor = (): number => Math.floor(proven + (clock.now() - at));
  let savedAt = -Infinity;
  return {
    floor,
    prove(time) {
      if (!isPossible(time) || time < floor()) return;
      [proven, at] = [time, clock.now()];
      if (clock.now() - savedAt < saveEveryMs) return;
      savedAt = clock.now();
      void writeProven(disk, time);
    },
  };
}

/** A time server sets the clock of this machine. */
export async function isClockSynchronized(system: Programs): Promise<boolean> {
  const result = await system.run('timedatectl', 'show', '--property=NTPSynchronized', '--value');
  return result.text === 'yes';
}
