/** Ends the trainers of a killed runner when the runner starts again; identifies them by PID and start time. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import { isAlive, readJson, signalGroup } from '@platform/kit/node';

interface Child {
  pid: number;
  startTime: string;
}
const fileOf = (jobFolder: string): string => path.join(jobFolder, 'trainer.json');

/** Synchronous: it keeps the time short in which a crash would leave an unrecorded trainer. */
export function rememberTrainer(jobFolder: string, { pid, startTime }: Child): void {
  writeFileSync(fileOf(jobFolder), JSON.stringify({ pid, startTime }));
}
export function forgetTrainer(jobFolder: string): void {
  rmSync(fileOf(jobFolder), { force: true });
}

/** Kills the trainers of the attempts in these folders. @returns the PIDs of those that were alive. */
export async function killOrphans(jobFolders: readonly string[], clock: Clock): Promise<number[]> {
  const pids: number[] = [];
  for (const jobFolder of jobFolders) {
    const child = childOf(await readJson(fileOf(jobFolder)).catch(() => undefined));
    if (child && isAlive(child)) {
      pids.push(child.pid);
      signalGroup(child.pid, 'SIGKILL');
      while (isAlive(child)) await clock.sleep(20);
    }
    forgetTrainer(jobFolder);
  }
  return pids;
}

function childOf(value: unknown): Child | undefined {
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('startTime' in value)) return undefined;
  const { pid, startTime } = value;
  return typeof pid === 'number' && typeof startTime === 'string' ? { pid, startTime } : undefined;
}
