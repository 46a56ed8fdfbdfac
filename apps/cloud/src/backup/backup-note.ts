// What a data folder knows of its backups: its server reads it, whoever made them.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import { refusalOfDisk } from './disk-full.ts';

/** Times in ms since 1970. */
export type BackupNote = {
  /** The newest backup; undefined: none was made. */
  at: number | undefined;
  /** Its folder, absolute. */
  folder: string | undefined;
  /** The newest scheduled attempt, if it failed and no backup was made since. */
  failed: { at: number; error: string } | undefined;
};

const noteFile = (dataFolder: string): string => path.join(dataFolder, 'last-backup.json');

type Stored = { at?: string; folder?: string; name?: string; failed_at?: string; error?: string };

const readStored = async (dataFolder: string): Promise<Stored> =>
  ((await readJson(noteFile(dataFolder)).catch(() => undefined)) as Stored | undefined) ?? {};

const msOfText = (text: string | undefined): number | undefined => {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
};

export async function readBackupNote(dataFolder: string): Promise<BackupNote> {
  const { at, folder, failed_at, error } = await readStored(dataFolder);
  const failedAt = msOfText(failed_at);
  return {
    at: msOfText(at),
    folder,
    failed: failedAt === undefined ? undefined : { at: failedAt, error: error ?? '' },
  };
}

export async function noteBackup(
  { folder, dataFolder }: { folder: string; dataFolder: string },
  name: string,
  clock: Clock,
): Promise<void> {
  await write(dataFolder, { at: new Date(clock.wall()).toISOString(), folder: path.resolve(folder), name });
}

/** A scheduled attempt failed; the newest backup stays noted. */
export async function noteFailure(dataFolder: string, error: string, clock: Clock): Promise<void> {
  const before = await readStored(dataFolder);
  await write(dataFolder, { ...before, failed_at: new Date(clock.wall()).toISOString(), error });
}

async function write(dataFolder: string, note: Stored): Promise<void> {
  const { uid, gid } = await stat(dataFolder);
  await atomicWrite(noteFile(dataFolder), `${JSON.stringify(note)}\n`, {
    ...(process.getuid?.() === 0 && { owner: { uid, gid } }),
  }).catch(async (error: unknown) => {
    throw await refusalOfDisk(error, { files: dataFolder, database: dataFolder });
  });
}
