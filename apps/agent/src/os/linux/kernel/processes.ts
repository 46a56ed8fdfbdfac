import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { machineEnvironment } from '@platform/contract/machine-server/machine-server';
import type { Clock } from '@platform/kit';
import { isAlive, processAgeMs, processStartTime, signalGroup, spawnGroup } from '@platform/kit/node';
import { childEnvironment } from '../../environment.ts';
import type { Command, Exit, ProcessId, Processes, RunningProcess, ProcessInfo } from '../../ports.ts';
import { endLeftBehind, leftBy, isMarked, memoryKills, type Mark } from './left-behind.ts';
import { untilEnded } from '../../posix/process-end.ts';
import type { OutputRelay, RelayEnds } from '../../posix/output-relay.ts';
import { commandOf, listenerOf, namespaceOf, pids, programOf } from './process-table.ts';
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';

const running = (id: ProcessId, exited: Promise<Exit>, killed = (): void => {}): RunningProcess => ({
  id,
  exited,
  signal(name) {
    if (name === 'KILL') {
      killed();
      return signalGroup(id.pid, 'SIGKILL');
    }
    if (isAlive(id)) process.kill(id.pid, `SIG${name}`);
  },
});

/** The environment that names the relay's socket to the server. */
export const relayEnvironment = (ends: RelayEnds | undefined): Record<string, string> =>
  ends ? { [machineEnvironment.logSocket]: ends.socket } : {};

/** Resolves an exit after all output of the process is in its files. */
export async function withItsLines(exited: Promise<Exit>, relay: OutputRelay | undefined): Promise<Exit> {
  const exit = await exited;
  await relay?.settled();
  return exit;
}

/** What starts and finds the processes of one root. */
interface ProcessParts {
  root: string;
  mark: Mark;
  clock: Clock;
  relay: OutputRelay | undefined;
}

/**
 * Processes in process groups of their own that outlive this agent. Without systemd nothing supervises them meanwhile.
 *
 * @param mark - name and value of an environment variable that is set for every process started here.
 */
export function linuxProcesses(root: string, mark: Mark, clock: Clock, relay?: OutputRelay): Processes {
  const parts: ProcessParts = { root, mark, clock, relay };
  return {
    start: (command) => startProcess(command, parts),
    adopt(id) {
      if (!isAlive(id)) return undefined;
      relay?.keep(id.pid, () => isAlive(id));
      const gone = async (): Promise<Exit> => {
        await untilEnded(id, clock);
        await endLeftBehind(mark, id);
        return { code: null, signal: null };
      };
      return running({ pid: id.pid, startTime: id.startTime }, withItsLines(gone(), relay));
    },
    find: () => findOwn(mark),
    ageMs: ({ startTime }) => processAgeMs(startTime),
    ended: async () => undefined, // only a parent learns how a process ended
    isReplaced: programFiles(root),
    foreignProcesses: (program) => findForeign(program, mark),
    listener: listenerOf,
  };
}

async function startProcess(command: Command, { root, mark, clock, relay }: ProcessParts): Promise<RunningProcess> {
  const killsBefore = (await memoryKills()) ?? Infinity;
  const ends = await relay?.open();
  try {
    const group = await spawnGroup({
      command: path.join(root, command.program),
      args: command.args,
      env: { ...childEnvironment(process.env), ...command.env, ...relayEnvironment(ends), [mark.name]: mark.value },
      cwd: root,
      ...(ends
        ? { outputs: ends.outputs }
        : { stdoutFile: path.join(root, command.stdoutFile), stderrFile: path.join(root, command.stderrFile) }),
      clock,
    });
    group.unref();
    const id = { pid: group.pid, startTime: group.startTime };
    if (ends) relay?.keep(id.pid, () => isAlive(id));
    let isKilled = false;
    const exited = group.exited.then(async (exit): Promise<Exit> => {
      const isOutOfMemory = exit.signal === 'SIGKILL' && !isKilled && ((await memoryKills()) ?? 0) > killsBefore;
      return { ...exit, ...(isOutOfMemory && { isOutOfMemory }), ...leftBy(exit, await endLeftBehind(mark, id)) };
    });
    return running(id, withItsLines(exited, relay), () => void (isKilled = true));
  } finally {
    ends?.release();
  }
}

/** Skips processes in containers: these have agents of their own, perhaps below the same root. */
async function findOwn(mark: Mark): Promise<ProcessId[]> {
  const found: (ProcessId & { ticks: number })[] = [];
  const here = await namespaceOf(process.pid);
  for (const pid of await pids()) {
    if (pid === process.pid || !(await isMarked(pid, mark)) || !(await leadsGroup(pid))) continue;
    if ((await namespaceOf(pid)) !== here) continue;
    const startTime = processStartTime(pid);
    if (startTime !== undefined) found.push({ pid, startTime, ticks: Number(startTime.split('/')[1]) });
  }
  return found.toSorted((a, b) => a.ticks - b.ticks).map(({ pid, startTime }) => ({ pid, startTime }));
}

async function findForeign(program: string, mark: Mark): Promise<ProcessInfo[]> {
  const found: ProcessInfo[] = [];
  const here = await namespaceOf(process.pid);
  for (const pid of await pids()) {
    if ((await programOf(pid)) !== program || (await isMarked(pid, mark))) continue;
    if ((await namespaceOf(pid)) !== here) continue;
    found.push({ pid, command: await commandOf(pid) });
  }
  return found;
}

/** A child of our process inherits the mark, but does not lead the process group. */
async function leadsGroup(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === pid;
  } catch {
    return false;
  }
}

/**
 * Detects whether a process runs another file than the one now at the path that it was started from. Comparing
 * identities is cheap. A different file is hashed once, because a program may be replaced by an identical one.
 */
function programFiles(root: string): (id: ProcessId, program: string) => Promise<boolean> {
  const known = { of: '', isReplaced: false };
  return async ({ pid }, program) => {
    const executable = `/proc/${pid}/exe`;
    const file = path.join(root, program);
    const [ours, now] = [identity(executable), identity(file)];
    // The process has exited or belongs to another user, or there is no file to start.
    if (ours === undefined || now === undefined || ours === now) return false;
    // A script runs as its interpreter, so its file cannot be compared.
    if (!(await isProgram(file))) return false;
    const of = `${ours} ${now}`;
    if (known.of !== of) {
      const [a, b] = [await hash(executable), await hash(file)];
      Object.assign(known, { of, isReplaced: a !== b });
    }
    return known.isReplaced;
  };
}

/** Synchronous: it runs every ten seconds, and an asynchronous call would wake another thread each time. */
function identity(file: string): string | undefined {
  try {
    const { dev, ino, size, mtimeMs } = statSync(file);
    return [dev, ino, size, mtimeMs].join(' ');
  } catch {
    return undefined;
  }
}

async function isProgram(file: string): Promise<boolean> {
  for await (const head of createReadStream(file, { end: 3 })) return (head as Buffer).toString('latin1') === '\x7fELF';
  return false;
}

async function hash(file: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const piece of createReadStream(file)) sum.update(piece as Buffer);
  return sum.digest('hex');
}
