const hourMs = 3_600_000;

/** Times in ms since 1970. */
export type BackupTimes = {
  everyMs: number;
  /** The newest backup; undefined: none. */
  last: number | undefined;
  /** The newest attempt that failed since. */
  failed: number | undefined;
  now: number;
};

/** Time servers correct a clock by less. */
const skewMs = 60_000;
/** A time of the future comes from a clock that was wrong: it says nothing of now. */
const isPast = (time: number | undefined, now: number): time is number => time !== undefined && time <= now + skewMs;

/** Time until the next attempt. */
export function msToNextBackup({ everyMs, last, failed, now }: BackupTimes): number {
  const retryMs = Math.min(everyMs, hourMs);
  const dueAt = Math.max(isPast(last, now) ? last + everyMs : now, isPast(failed, now) ? failed + retryMs : now);
  return Math.max(0, dueAt - now);
}

/** A backup counts for this many intervals. */
export const validIntervals = 2;

/** Why an operator must look; undefined: a backup is as new as it should be. */
export function backupProblem(of: BackupTimes & { error: string | undefined }): string | undefined {
  const { everyMs, last, now, error } = of;
  const newest =
    last === undefined ? 'There is no backup yet' : `The newest backup is of ${new Date(last).toISOString()}`;
  if (error !== undefined) return `${newest}. The last attempt failed: ${error}`;
  if (last === undefined) return undefined;
  if (!isPast(last, now)) return `${newest}, which is in the future: the clock was wrong then or is wrong now`;
  if (now - last > validIntervals * everyMs) return `${newest}, which is more than twice the interval ago`;
  return undefined;
}

/** A timer comes about every hour: a backup that is due before the next time is made now. */
const timerMs = hourMs / 2;

/** Whether a timer of the host makes a backup now. */
export const isDue = ({ everyMs, last, now }: Pick<BackupTimes, 'everyMs' | 'last' | 'now'>): boolean =>
  !isPast(last, now) || now - last >= everyMs - Math.min(timerMs, everyMs);
