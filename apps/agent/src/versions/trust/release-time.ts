import { estimateTime, longestLifeMs, sourceWall, type Clock, type TrustedTime } from '@platform/kit';
import type { Disk } from '../../os/ports.ts';
import { readChecked } from '../../storage/checked-file.ts';
import { isPossible, readProven, writeProven } from '../../clock/proven-time.ts';

/** The time against which documents expire. */
export interface ReleaseTime extends TrustedTime {
  /** ms since 1970, certainly in the past: a document that ends before it has expired, whatever the clock shows. */
  certain: number;
}

const lastSeenFile = 'state/time.json';
const worthWritingMs = 3_600_000;

/**
 * The time against which documents expire. The time of a time server is trusted and stored. A clock that is set back
 * later, or that begins in 1970, makes no old document valid again. A time without a time server, such as the last
 * stored one, only helps to estimate.
 *
 * @param isSynchronized - a time server sets the clock.
 */
export async function releaseTime(disk: Disk, clock: Clock, isSynchronized: boolean): Promise<ReleaseTime> {
  const [proven, lastSeen] = [await readProven(disk), await readLastSeen(disk)];
  const certain = Math.max(proven, sourceWall);
  const system = clock.wall();
  if (isSynchronized && system >= sourceWall && system <= sourceWall + longestLifeMs) {
    // Accept a time before the proven one, too: the time server was wrong once and is right now.
    if (system > certain + worthWritingMs || system < certain) {
      await writeProven(disk, system);
    }
    return { now: system, isTrusted: true, certain: Math.min(certain, system) };
  }
  return { ...estimateTime({ floor: Math.max(certain, lastSeen), system, isSynchronized: false }), certain };
}

/** 0: missing or impossible. */
async function readLastSeen(disk: Disk): Promise<number> {
  const { value = 0 } = await readChecked(disk, lastSeenFile, (v) =>
    Number((v as Record<string, unknown>)['last_seen']),
  );
  return isPossible(value) ? value : 0;
}
