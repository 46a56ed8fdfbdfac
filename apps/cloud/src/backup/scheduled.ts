import path from 'node:path';
import { errorText, type Clock, type Log, type Secret } from '@platform/kit';
import type { Connection } from '../database/database.ts';
import { readBackupNote } from './backup-note.ts';
import { type BackupResult, makeBackup } from './make-backup.ts';
import { backupProblem, msToNextBackup } from './rules/next-backup.ts';

export type ScheduleOptions = {
  backupDir: string | undefined;
  backupEveryHours: number;
  backupKeep: number;
  backupPassphrase: Secret | undefined;
  /** A timer of the host makes them. */
  backupByHost: boolean;
};

export type Backups = {
  /** Undefined: none is scheduled. */
  schedule: { everyHours: number; keep: number } | undefined;
  /** Where scheduled backups go, absolute. */
  folder: string | undefined;
  /** When the newest backup of this data folder was made, by the schedule or by hand; ms since 1970. */
  last(): Promise<number | undefined>;
  /** Why an operator must look; undefined without a schedule. */
  problem(): string | undefined;
  done: Promise<void>;
};

const hourMs = 3_600_000;
/** A small file is read this often: a backup by hand counts, too, and the one of a timer is soon reported. */
const lookMs = 10_000;

/** Makes backups by the options, one after the other, until `signal`. */
export function scheduleBackups(
  options: ScheduleOptions,
  { dataFolder, connection, clock, log }: { dataFolder: string; connection: Connection; clock: Clock; log: Log },
  signal: AbortSignal,
): Backups {
  const last = async (): Promise<number | undefined> => (await readBackupNote(dataFolder)).at;
  const { backupDir, backupByHost } = options;
  if (backupDir === undefined)
    return { last, folder: undefined, schedule: undefined, problem: () => undefined, done: Promise.resolve() };
  const everyMs = options.backupEveryHours * hourMs;
  const state: { last?: number | undefined; failed?: number; error?: string } = {};
  const timesNow = () => ({ everyMs, last: state.last, failed: state.failed, now: clock.wall() });
  const folder = path.resolve(backupDir);
  const passphrase = options.backupPassphrase?.reveal();
  const failWith = (error: string | undefined, at?: number): void => {
    if (error === undefined) delete state.error;
    else state.error = error;
    if (at === undefined) delete state.failed;
    else state.failed = at;
  };
  const attempt = async (): Promise<void> => {
    try {
      const of = { folder, dataFolder, connection, keep: options.backupKeep, passphrase, keysTo: undefined };
      const made = await makeBackup(of, { clock, log, signal });
      log.info('backup', { folder, name: made.name, files: made.files, copied: made.copiedFiles });
      failWith(incompleteness(made));
    } catch (error) {
      if (signal.aborted) return;
      failWith(errorText(error), clock.wall());
      log.error('the backup failed', { folder, error: state.error });
    }
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const note = await readBackupNote(dataFolder);
      state.last = note.at;
      if (backupByHost) failWith(note.failed?.error, note.failed?.at);
      const waitMs = backupByHost ? lookMs : msToNextBackup(timesNow());
      if (waitMs === 0) await attempt();
      else await clock.sleep(Math.min(waitMs, lookMs), signal);
    }
  };
  const schedule = { everyHours: options.backupEveryHours, keep: options.backupKeep };
  return { last, folder, schedule, problem: () => backupProblem({ ...timesNow(), error: state.error }), done: run() };
}

/** What a backup that was made lacks. */
function incompleteness({ damaged, unreadKeys }: Pick<BackupResult, 'damaged' | 'unreadKeys'>): string | undefined {
  if (damaged[0]) return `${damaged.length} files of the data folder are damaged, such as ${damaged[0].file}`;
  if (unreadKeys[0] === undefined) return undefined;
  return `It was made without the keys in ${unreadKeys[0]}, which this user may not read; agents accept no update after a restore without them. Let root make the backups: platform admin install-service --backup-dir DIR`;
}
