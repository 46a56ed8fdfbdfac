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

/** Time until the next attempt. A clock that jumped does not put it off for longer than the interval. */
export function msToNextBackup({ everyMs, last, failed, now }: BackupTimes): number {
  const retryMs = Math.min(everyMs, hourMs);
  const dueAt = Math.max(last === undefined ? now : last + everyMs, failed === undefined ? now : failed + retryMs);
  return Math.min(Math.max(0, dueAt - now), everyMs);
}

/** Why an operator must look; undefined: a backup is as new as it should be. */
export function backupProblem(of: BackupTimes & { error: string | undefined }): string | undefined {
  const { everyMs, last, now, error } = of;
  const newest =
    last === undefined ? 'There is no backup yet' : `The newest backup is of ${new Date(last).toISOString()}`;
  if (error !== undefined) return `${newest}. The last attempt failed: ${error}`;
  if (last !== undefined && now - last > 2 * everyMs) return `${newest}, which is more than twice the interval ago`;
  return undefined;
}

/** A timer comes about every hour: a backup that is due before the next time is made now. */
const timerMs = hourMs / 2;

/** Whether a timer of the host makes a backup now. */
export const isDue = ({ everyMs, last, now }: Pick<BackupTimes, 'everyMs' | 'last' | 'now'>): boolean =>
  last === undefined || last > now || now - last >= everyMs - Math.min(timerMs, everyMs);
