import { readFile } from 'node:fs/promises';
import { isAlive, processStartTime } from '@platform/kit/node';
import type { Exit, ProcessId, ProcessInfo } from '../../ports.ts';
import { commandOf, namespaceOf, pids } from './process-table.ts';

/** An environment variable that every process started here gets and its children inherit. */
export interface Mark {
  name: string;
  value: string;
}

export async function isMarked(pid: number, mark: Mark): Promise<boolean> {
  try {
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    return environment.includes(`${mark.name}=${mark.value}`);
  } catch {
    return false; // it has exited, or belongs to another user
  }
}

/** Processes with the mark in this PID namespace, except `but`. */
async function markedProcesses(mark: Mark, but: number): Promise<(ProcessId & ProcessInfo)[]> {
  const found: (ProcessId & ProcessInfo)[] = [];
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
 * Kills what a process left running, including daemonised children that have left its process group.
 *
 * @returns the processes that were left.
 */
export async function endLeftBehind(mark: Mark, of: ProcessId): Promise<readonly ProcessInfo[]> {
  const left = await markedProcesses(mark, of.pid);
  for (const id of left) {
    try {
      if (isAlive(id)) process.kill(id.pid, 'SIGKILL');
    } catch {
      // It has exited in the meantime.
    }
  }
  return left.map(({ pid, command }) => ({ pid, command }));
}

/** Reported only after exit code 0: a process that is killed takes its children with it. */
export const leftBy = ({ code }: Exit, leftBehind: readonly ProcessInfo[]): Pick<Exit, 'leftBehind'> =>
  code === 0 && leftBehind.length > 0 ? { leftBehind } : {};

/** OOM kills in this control group and those below it; undefined: unknown. */
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
