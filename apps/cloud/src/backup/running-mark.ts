import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isCopiedMark, markFolder } from '@platform/kit/node';

/** Exists from the start of a server to its end in order, and knows its place on the disk. Decision 0082. */
const runningFile = (dataFolder: string): string => path.join(dataFolder, 'running.json');

/** Whether the folder was copied while a server used the original, or after it ended without order. */
export const isRunningCopy = (dataFolder: string): Promise<boolean> => isCopiedMark(runningFile(dataFolder));

export const markRunning = (dataFolder: string): Promise<void> => markFolder(runningFile(dataFolder));

/** A copy that was not accepted keeps the mark of the original. */
export async function unmarkRunning(dataFolder: string): Promise<void> {
  if (!(await isRunningCopy(dataFolder))) await rm(runningFile(dataFolder), { force: true });
}

/** Removes what a copy says of the processes of the original: they would be taken for its own. */
export async function forgetProcesses(dataFolder: string): Promise<void> {
  await rm(path.join(dataFolder, 'server.lock'), { force: true });
  const postgres = path.join(dataFolder, 'postgres');
  for (const major of await readdir(postgres).catch(() => []))
    if (/^\d+$/.test(major))
      for (const name of ['postmaster.pid', '.s.PGSQL.5432', '.s.PGSQL.5432.lock'])
        await rm(path.join(postgres, major, name), { force: true });
}
