import { longestLifeMs, sourceWall, type Clock } from '@platform/kit';
import type { Disk, Programs } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';

const file = 'state/proven-time.json';
const saveEveryMs = 6 * 3_600_000;

/** The latest time that a server which proved who it is, or a time server, has named. It outlives the agent. */
export interface ProvenTime {
  /** ms since 1970, in the past for certain: not before this program was made. */
  floor: () => number;
  prove: (time: number) => void;
}

export const isPossible = (ms: number): boolean => ms > sourceWall && ms < sourceWall + longestLifeMs;

/** 0: nothing was proven yet. */
export async function readProven(disk: Disk): Promise<number> {
  const { value = 0 } = await readChecked(disk, file, (json) => Number((json as Record<string, unknown>)['proven']));
  return isPossible(value) ? value : 0;
}

/** A failure costs a lower floor after the next start: no reason to stop. */
export const writeProven = (disk: Disk, time: number): Promise<void> =>
  writeChecked(disk, file, { proven: Math.floor(time) }).catch(() => {});

export async function openProvenTime(disk: Disk, clock: Pick<Clock, 'now'>): Promise<ProvenTime> {
  // It goes on from there: a certificate that ends while this agent runs has ended.
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
  const said = await system.run('timedatectl', 'show', '--property=NTPSynchronized', '--value');
  return said.text === 'yes';
}
