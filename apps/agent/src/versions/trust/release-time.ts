import { estimateTime, longestLifeMs, sourceWall, type Clock, type TrustedTime } from '@platform/kit';
import type { Disk } from '../../os/ports.ts';
import { readChecked } from '../../storage/checked-file.ts';
import { isPossible, readProven, writeProven } from '../../clock/proven-time.ts';

/** What documents may be called expired by. */
export interface ReleaseTime extends TrustedTime {
  /** ms since 1970, in the past for certain: what ends before has expired, whatever the clock says now. */
  certain: number;
}

const lastSeenFile = 'state/time.json';
const worthWritingMs = 3_600_000;

/**
 * What time it is, for documents that expire. What a time server says is believed and remembered: a clock that is set back
 * later, or begins in 1970, makes no old document good again. What only seemed to be the time, as the last time that was
 * stored, helps to estimate and proves nothing.
 *
 * @param isSynchronized - a time server sets the clock.
 */
export async function releaseTime(disk: Disk, clock: Clock, isSynchronized: boolean): Promise<ReleaseTime> {
  const [proven, lastSeen] = [await readProven(disk), await readLastSeen(disk)];
  const certain = Math.max(proven, sourceWall);
  const system = clock.wall();
  if (isSynchronized && system >= sourceWall && system <= sourceWall + longestLifeMs) {
    // Also a time before the proven one: a time server was wrong once, and is right now.
    if (system > certain + worthWritingMs || system < certain) {
      await writeProven(disk, system);
    }
    return { now: system, isTrusted: true, certain: Math.min(certain, system) };
  }
  return { ...estimateTime({ floor: Math.max(certain, lastSeen), system, isSynchronized: false }), certain };
}

/** 0 for what is missing, or cannot be. */
async function readLastSeen(disk: Disk): Promise<number> {
  const { value = 0 } = await readChecked(disk, lastSeenFile, (v) =>
    Number((v as Record<string, unknown>)['last_seen']),
  );
  return isPossible(value) ? value : 0;
}
