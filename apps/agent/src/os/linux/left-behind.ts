import { readFile } from 'node:fs/promises';
import { isAlive, processStartTime } from '@platform/kit/node';
import type { Exit, ProcessId, Stranger } from '../ports.ts';
import { commandOf, namespaceOf, pids } from './process-table.ts';

/** An environment variable that is set for every process started here, and that what they start inherits. */
export interface Mark {
  name: string;
  value: string;
}

export async function isMarked(pid: number, mark: Mark): Promise<boolean> {
  try {
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    return environment.includes(`${mark.name}=${mark.value}`);
  } catch {
    return false; // it ended, or it is another user's
  }
}

/** Processes with the mark that live in this namespace, without `but`. */
async function markedProcesses(mark: Mark, but: number): Promise<(ProcessId & Stranger)[]> {
  const found: (ProcessId & Stranger)[] = [];
  const here = await namespaceOf(process.pid);
  for (const pid of await pids()) {
    if (pid === process.pid || pid === but || !(await isMarked(pid, mark)) || (await namespaceOf(pid)) !== here)
      continue;
    const startTime = processStartTime(pid);
    if (startTime !== undefined) found.push({ pid, startTime, command: await commandOf(pid) });
  }
  return found;
}

/**
 * Ends what a process left running, also what has left its process group, as a program does that goes into the background.
 *
 * @returns what it was.
 */
export async function endLeftBehind(mark: Mark, of: ProcessId): Promise<readonly Stranger[]> {
  const left = await markedProcesses(mark, of.pid);
  for (const id of left) {
    try {
      if (isAlive(id)) process.kill(id.pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  return left.map(({ pid, command }) => ({ pid, command }));
}

/** Of interest where a process ended well: one that was ended takes what it started along. */
export const leftBy = ({ code }: Exit, leftBehind: readonly Stranger[]): Pick<Exit, 'leftBehind'> =>
  code === 0 && leftBehind.length > 0 ? { leftBehind } : {};

/** Processes of this control group, and of those below it, that the kernel has killed for memory; undefined: not known. */
export async function memoryKills(): Promise<number | undefined> {
  try {
    const group = /^0::(\/.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1];
    if (group === undefined) return undefined;
    const events = await readFile(`/sys/fs/cgroup${group === '/' ? '' : group}/memory.events`, 'utf8');
    const count = /^oom_kill (\d+)$/m.exec(events)?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}
