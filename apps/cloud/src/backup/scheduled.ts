import path from 'node:path';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Secret } from '@platform/kit';
import type { Connection } from '../database/database.ts';
import { lastBackup, makeBackup } from './make-backup.ts';
import { backupProblem, msToNextBackup } from './rules/next-backup.ts';

export type ScheduleOptions = {
  backupDir: string | undefined;
  backupEveryHours: number;
  backupKeep: number;
  backupPassphrase: Secret | undefined;
};

export type Backups = {
  /** Undefined: none is scheduled. */
  schedule: { everyHours: number; keep: number } | undefined;
  /** When the newest backup of this data folder was made, by the schedule or by hand; ms since 1970. */
  last(): Promise<number | undefined>;
  /** Why an operator must look; undefined without a schedule. */
  problem(): string | undefined;
  done: Promise<void>;
};

const hourMs = 3_600_000;
/** A backup by hand counts, too. */
const lookMs = 60_000;

/** Makes backups by the options, one after the other, until `signal`. */
export function scheduleBackups(
  options: ScheduleOptions,
  { dataFolder, connection, clock, log }: { dataFolder: string; connection: Connection; clock: Clock; log: Log },
  signal: AbortSignal,
): Backups {
  const last = (): Promise<number | undefined> => lastBackup(dataFolder);
  const { backupDir } = options;
  if (backupDir === undefined) return { last, schedule: undefined, problem: () => undefined, done: Promise.resolve() };
  const everyMs = options.backupEveryHours * hourMs;
  const state: { last?: number | undefined; failed?: number; error?: string } = {};
  const timesNow = () => ({ everyMs, last: state.last, failed: state.failed, now: clock.wall() });
  const folder = path.resolve(backupDir);
  const passphrase = options.backupPassphrase?.reveal();
  const attempt = async (): Promise<void> => {
    try {
      const of = { folder, dataFolder, connection, keep: options.backupKeep, passphrase, keysTo: undefined };
      const { name, files, copiedFiles, damaged } = await makeBackup(of, { clock, log, signal });
      log.info('backup', { folder, name, files, copied: copiedFiles });
      delete state.failed;
      delete state.error;
      if (damaged[0])
        state.error = `${damaged.length} files of the data folder are damaged, such as ${damaged[0].file}`;
    } catch (error) {
      if (signal.aborted) return;
      state.failed = clock.wall();
      state.error = errorText(error);
      log.error('the backup failed', { folder, error: state.error });
    }
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      state.last = await last();
      const waitMs = msToNextBackup(timesNow());
      if (waitMs === 0) await attempt();
      else await clock.sleep(Math.min(waitMs, lookMs), signal);
    }
  };
  const schedule = { everyHours: options.backupEveryHours, keep: options.backupKeep };
  return { last, schedule, problem: () => backupProblem({ ...timesNow(), error: state.error }), done: run() };
}
