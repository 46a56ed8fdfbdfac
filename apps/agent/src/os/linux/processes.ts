import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import { isAlive, processAgeMs, processStartTime, signalGroup, spawnGroup } from '@platform/kit/node';
import { childEnvironment } from '../environment.ts';
import type { Exit, ProcessId, Processes, RunningProcess } from '../ports.ts';
import { commandOf, listenerOf, namespaceOf, pids, programOf } from './process-table.ts';
import { programFiles } from './program-files.ts';

const adoptedLookMs = 500;

const running = (id: ProcessId, exited: Promise<Exit>): RunningProcess => ({
  id,
  exited,
  signal(name) {
    if (name === 'KILL') return signalGroup(id.pid, 'SIGKILL');
    if (isAlive(id)) process.kill(id.pid, `SIG${name}`);
  },
});

/**
 * Processes in groups of their own that outlive this agent. Without systemd nobody watches over them meanwhile.
 *
 * @param mark - name and value of an environment variable that is set for every process started here.
 */
export function linuxProcesses(root: string, mark: { name: string; value: string }, clock: Clock): Processes {
  return {
    async start(command) {
      const group = await spawnGroup({
        command: path.join(root, command.program),
        args: command.args,
        env: { ...childEnvironment(process.env), ...command.env, [mark.name]: mark.value },
        cwd: root,
        stdoutFile: path.join(root, command.stdoutFile),
        stderrFile: path.join(root, command.stderrFile),
        clock,
      });
      group.unref();
      return running({ pid: group.pid, startTime: group.startTime }, group.exited);
    },
    adopt(id) {
      if (!isAlive(id)) return undefined;
      const gone = async (): Promise<Exit> => {
        while (isAlive(id)) await clock.sleep(adoptedLookMs);
        return { code: null, signal: null };
      };
      return running({ pid: id.pid, startTime: id.startTime }, gone());
    },
    // Containers have agents of their own, perhaps below the same root: what runs in them is not of this machine.
    async find() {
      const found: (ProcessId & { ticks: number })[] = [];
      const here = await namespaceOf(process.pid);
      for (const pid of await pids()) {
        if (pid === process.pid || !(await isMarked(pid, mark)) || !(await leadsGroup(pid))) continue;
        if ((await namespaceOf(pid)) !== here) continue;
        const startTime = processStartTime(pid);
        if (startTime !== undefined) found.push({ pid, startTime, ticks: Number(startTime.split('/')[1]) });
      }
      return found.toSorted((a, b) => a.ticks - b.ticks).map(({ pid, startTime }) => ({ pid, startTime }));
    },
    ageMs: ({ startTime }) => processAgeMs(startTime),
    ended: async () => undefined, // only a parent is told
    isReplaced: programFiles(root),
    async strangers(program) {
      const found = [];
      const here = await namespaceOf(process.pid);
      for (const pid of await pids()) {
        if ((await programOf(pid)) !== program || (await isMarked(pid, mark))) continue;
        if ((await namespaceOf(pid)) !== here) continue;
        found.push({ pid, command: await commandOf(pid) });
      }
      return found;
    },
    listener: listenerOf,
  };
}

async function isMarked(pid: number, mark: { name: string; value: string }): Promise<boolean> {
  try {
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    return environment.includes(`${mark.name}=${mark.value}`);
  } catch {
    return false; // it ended, or it is another user's
  }
}

/** What a process of ours started itself inherits the mark, not the lead. */
async function leadsGroup(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === pid;
  } catch {
    return false;
  }
}
