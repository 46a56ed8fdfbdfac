import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, chmod, constants, mkdir, readlink, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import { isAlive, processStartTime, runFolder } from '@platform/kit/node';
import { childEnvironment, environmentText } from '../../environment.ts';
import type { Command, Exit, ProcessId, Processes, RunningProcess } from '../../ports.ts';
import { endLeftBehind, leftBy, type Mark } from '../kernel/left-behind.ts';
import type { OutputRelay, RelayEnds } from '../../posix/output-relay.ts';
import { groupEventsOf, untilEnded } from '../../posix/process-end.ts';
import { relayEnvironment, withItsLines } from '../kernel/processes.ts';
import { signalNames } from '../../posix/signals.ts';

/** systemd notices an exit a little later than the process table does. */
const reapLooks = 50;
const reapLookMs = 100;
const programMs = 30_000;

/** The properties of a unit from `systemctl show`. */
export interface UnitState {
  isLoaded: boolean;
  /** PID of the running main process; 0: none. */
  pid: number;
  /** PID of the last main process. */
  lastPid: number;
  exit: Exit;
}

const shown = 'LoadState,MainPID,ExecMainPID,ExecMainCode,ExecMainStatus,Result';

/** Parses `systemctl show -p` of these properties; the order of its lines varies. */
export function readUnitState(text: string): UnitState {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  const [code, status] = [value('ExecMainCode'), Number(value('ExecMainStatus'))];
  return {
    isLoaded: value('LoadState') === 'loaded',
    pid: Number(value('MainPID')),
    lastPid: Number(value('ExecMainPID')),
    // CLD_EXITED, CLD_KILLED, CLD_DUMPED of wait(2); 0 while it runs
    exit: {
      code: code === '1' ? status : null,
      signal: code === '2' || code === '3' ? (signalNames[status] ?? `SIG${status}`) : null,
      ...(value('Result') === 'oom-kill' && { isOutOfMemory: true }),
    },
  };
}

/** Runs one of systemd's programs. @throws Error with its error output */
function ask(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, [...args], { timeout: programMs, env: { PATH: process.env['PATH'] } }, (error, out, problem) => {
      if (error) reject(new Error(`${program}: ${problem.trim() || error.message}`));
      else resolve(out);
    });
  });
}

export interface SystemdParts {
  root: string;
  unit: string;
  /** Unit that is stopped first at shutdown. */
  agentUnit: string;
  mark: Mark;
  /** Longest time that the agent needs to stop it. If the agent has died, systemd kills it after this time. */
  stopMs: number;
  /** For processes that an agent without systemd has started. */
  plain: Processes;
  relay?: OutputRelay | undefined;
  clock: Clock;
}

/**
 * Runs one process at a time as a systemd unit of its own. It outlives this agent, its children are in its control
 * group, and systemd records how it ended.
 */
export function systemdProcesses(parts: SystemdParts): Processes {
  const { unit, plain, relay } = parts;
  // A late KILL must not hit the next process.
  const inOrder = serialised();
  const running = (id: ProcessId): RunningProcess => runningUnit(id, parts, inOrder);
  return {
    start: (command) =>
      inOrder(async () => {
        const ends = await relay?.open();
        try {
          const id = await startUnit(command, ends, parts);
          if (ends) relay?.keep(id.pid, () => isAlive(id));
          return running(id);
        } finally {
          ends?.release();
        }
      }),
    adopt(id) {
      if (!isInUnit(id.pid, unit)) return plain.adopt(id);
      if (!isAlive(id)) return undefined;
      relay?.keep(id.pid, () => isAlive(id));
      return running(id);
    },
    find: () => plain.find(),
    ageMs: (id) => plain.ageMs?.(id),
    isReplaced: (id, program) => plain.isReplaced(id, program),
    foreignProcesses: (program) => plain.foreignProcesses(program),
    listener: (port) => plain.listener(port),
    ended: (id) => inOrder(async () => (isAlive(id) ? undefined : exitOf(id, parts))),
  };
}

type InOrder = <T>(operation: () => Promise<T>) => Promise<T>;

/** Starts each operation after the one before it has ended, also by an error. */
function serialised(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  return (operation) => {
    const next = last.then(operation, operation);
    last = next.catch(() => undefined);
    return next;
  };
}

const systemctl = (...args: string[]) => ask('systemctl', args);
const show = async (unit: string): Promise<UnitState> => readUnitState(await systemctl('show', unit, '-p', shown));

/** Removes the unit of the last process after killing its leftovers: the next process needs the name. */
async function clear(unit: string): Promise<void> {
  if (!(await show(unit)).isLoaded) return;
  await systemctl('kill', '--signal=KILL', unit).catch(() => undefined);
  // Without this, the stop would wait for the agent's own exit while systemd stops the agent: the server's unit is
  // ordered before the agent's.
  await systemctl('stop', '--job-mode=ignore-dependencies', unit).catch(() => undefined);
  await systemctl('reset-failed', unit).catch(() => undefined);
}

/** Undefined: another process has started since, or systemd has no record. */
async function exitOf(id: ProcessId, { unit, mark, clock }: SystemdParts): Promise<Exit | undefined> {
  for (let look = 0; look < reapLooks; look++) {
    const state = await show(unit).catch(() => undefined);
    if (state !== undefined && (!state.isLoaded || state.lastPid !== id.pid)) return undefined;
    if (state?.pid === 0) {
      // Before the unit is cleared, which kills them: the exit reports a program that daemonises.
      const leftBehind = await endLeftBehind(mark, id).catch(() => []);
      await clear(unit).catch(() => undefined);
      return { ...state.exit, ...leftBy(state.exit, leftBehind) };
    }
    await clock.sleep(reapLookMs);
  }
  return undefined;
}

function runningUnit(id: ProcessId, parts: SystemdParts, inOrder: InOrder): RunningProcess {
  const { unit, relay, clock } = parts;
  const events = groupEventsOf(id.pid);
  const gone = async (): Promise<Exit> => {
    await untilEnded(id, clock, events);
    return (await inOrder(() => exitOf(id, parts))) ?? { code: null, signal: null };
  };
  return {
    id: { pid: id.pid, startTime: id.startTime },
    exited: withItsLines(gone(), relay),
    signal(name) {
      // Kills the whole control group. Ignores errors: there may be no process or unit left to kill.
      if (name === 'KILL') void inOrder(() => systemctl('kill', '--signal=KILL', unit)).catch(() => undefined);
      else if (isAlive(id)) process.kill(id.pid, `SIG${name}`);
    },
  };
}

async function startUnit(command: Command, ends: RelayEnds | undefined, parts: SystemdParts): Promise<ProcessId> {
  const { root, unit } = parts;
  await clear(unit);
  const properties = serverProperties(command, ends, await writeEnvironment(command, ends, parts), parts);
  const program = path.join(root, command.program);
  // systemd would name the missing program; the shell that opens the pipes returns only an exit code.
  await access(program, constants.X_OK);
  await ask('systemd-run', [
    '--quiet',
    `--unit=${unit}`,
    '--service-type=exec', // fails if the program cannot be executed
    ...propertyArguments(properties),
    '--',
    ...[...(ends ? withPipes(ends) : []), program, ...command.args].map((arg) => arg.replaceAll('$', '$$$$')),
  ]);
  const { pid, lastPid } = await show(unit);
  const startTime = pid === 0 ? undefined : processStartTime(pid);
  if (ends && startTime !== undefined) await pipesOpened({ pid, startTime }, ends, parts.clock);
  return { pid: pid || lastPid, startTime: startTime ?? 'ended' };
}

/** Below /run: the file may hold passwords of proxies, and a full disk must not prevent a start. */
async function writeEnvironment(
  command: Command,
  ends: RelayEnds | undefined,
  { unit, mark }: SystemdParts,
): Promise<string> {
  await mkdir(runFolder, { recursive: true, mode: 0o700 });
  const file = path.join(runFolder, `${unit}.env`);
  const env = {
    ...childEnvironment(process.env),
    ...command.env,
    ...relayEnvironment(ends),
    [mark.name]: mark.value,
  };
  await writeFile(file, environmentText(env), { mode: 0o600 });
  await chmod(file, 0o600);
  return file;
}

const serverProperties = (
  command: Command,
  ends: RelayEnds | undefined,
  environmentFile: string,
  { root, agentUnit, stopMs }: SystemdParts,
): Readonly<Record<string, string>> => ({
  Description: 'Platform machine server',
  Slice: 'platform.slice',
  Before: agentUnit,
  KillMode: 'mixed',
  TimeoutStopSec: String(Math.ceil(stopMs / 1000)),
  OOMPolicy: 'kill',
  LimitCORE: '0',
  RemainAfterExit: 'yes', // keeps the exit status of a process that exited with 0
  WorkingDirectory: root,
  EnvironmentFile: environmentFile,
  StandardOutput: ends ? 'null' : `append:${path.join(root, command.stdoutFile)}`,
  StandardError: ends ? 'null' : `append:${path.join(root, command.stderrFile)}`,
});

const propertyArguments = (properties: Readonly<Record<string, string>>): string[] =>
  Object.entries(properties).flatMap(([name, value]) => ['-p', `${name}=${value}`]);

/**
 * The shell execs the program. A pipe that is also open for reading accepts data while its reader is away, and never
 * raises SIGPIPE. systemd itself opens a pipe for writing only.
 */
const withPipes = ({ stdout, stderr }: RelayEnds): string[] => [
  '/bin/sh',
  '-c',
  'out=$1 err=$2; shift 2; exec "$@" 1<>"$out" 2<>"$err"',
  'sh',
  stdout,
  stderr,
];

const openMs = 10_000;
const openLookMs = 5;

/**
 * Resolves when the process has opened the pipes, has ended, or after 10 s. systemd reports a start when the shell runs,
 * before the shell opens them. If the agent released the pipes earlier, they would have no writer for a moment: the
 * relay would take that for the end of the server and exit.
 */
export async function pipesOpened(
  id: ProcessId,
  { stdout, stderr }: Pick<RelayEnds, 'stdout' | 'stderr'>,
  clock: Clock,
): Promise<void> {
  const end = clock.now() + openMs;
  const wanted = await Promise.all([stdout, stderr].map((pipe) => realpath(pipe).catch(() => pipe)));
  while (isAlive(id) && clock.now() < end) {
    const opened = await Promise.all([1, 2].map((fd) => readlink(`/proc/${id.pid}/fd/${fd}`).catch(() => '')));
    if (opened.every((file, i) => file === wanted[i])) return;
    await clock.sleep(openLookMs);
  }
}

/** Starts the relay of the machine server as a unit of its own: it outlives both agent and server. */
export async function startRelayUnit(of: {
  unit: string;
  /** Stopped before the relay at shutdown. */
  serverUnit: string;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}): Promise<void> {
  const properties: Readonly<Record<string, string>> = {
    Description: 'Platform machine server output',
    Slice: 'platform.slice',
    Before: of.serverUnit,
    Restart: 'on-failure',
    RestartSec: '100ms',
    StartLimitIntervalSec: '10',
    StartLimitBurst: '20',
    TimeoutStopSec: '5',
    OOMScoreAdjust: '-500',
    LimitCORE: '0',
  };
  await ask('systemctl', ['stop', of.unit]).catch(() => undefined); // one in a restart loop
  await ask('systemd-run', [
    '--quiet',
    '--collect',
    `--unit=${of.unit}`,
    '--service-type=exec',
    ...propertyArguments(properties),
    ...Object.entries(of.env).map(([name, value]) => `--setenv=${name}=${value}`),
    '--',
    ...of.command.map((arg) => arg.replaceAll('$', '$$$$')),
  ]);
}

function isInUnit(pid: number, unit: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`/${unit}\n`);
  } catch {
    return false; // it has exited
  }
}
