import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { systemClock } from './clock.ts';
import { plainEnvironment } from './environment.ts';

export interface SpawnOptions {
  command: string;
  args?: readonly string[];
  /** The whole environment of the child; default: `plainEnvironment()`. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Both outputs are appended here instead of being piped, so that the child can outlive this process. */
  logFile?: string;
  /** For this output only; takes precedence over `logFile`. */
  stdoutFile?: string;
  stderrFile?: string;
  /** Open files or pipes for both outputs, instead of files; the caller closes them. */
  outputs?: { stdout: number; stderr: number };
  stdin?: 'ignore' | 'pipe';
  clock?: Clock;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A child that leads its own process group, so that it and all its descendants can be ended together. */
export interface ProcessGroup {
  readonly pid: number;
  /** Identifies this process permanently, together with the PID; see `isAlive`. */
  readonly startTime: string;
  readonly exited: Promise<Exit>;
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  signal(name: NodeJS.Signals): void;
  /** Sends TERM to the group, waits up to `termMs` for all its processes, then sends KILL to the group. */
  stop(how: { termMs: number }): Promise<Exit>;
  /** Allows this process to exit while the child lives. */
  unref(): void;
}

/** @throws Error (ENOENT, EACCES, …) when the program cannot be started. */
export async function spawnGroup(of: SpawnOptions): Promise<ProcessGroup> {
  const clock = of.clock ?? systemClock;
  const files: number[] = [];
  const output = (file: string | undefined): number | 'pipe' => {
    if (file === undefined) return 'pipe';
    files.push(openSync(file, 'a', 0o640));
    return files.at(-1)!;
  };
  try {
    const child = spawn(of.command, [...(of.args ?? [])], {
      detached: true, // creates a session and a process group
      stdio: [
        of.stdin ?? 'ignore',
        of.outputs?.stdout ?? output(of.stdoutFile ?? of.logFile),
        of.outputs?.stderr ?? output(of.stderrFile ?? of.logFile),
      ],
      env: of.env ?? plainEnvironment(),
      ...(of.cwd !== undefined && { cwd: of.cwd }),
      ...(of.uid !== undefined && { uid: of.uid }),
      ...(of.gid !== undefined && { gid: of.gid }),
    });
    const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    await once(child, 'spawn'); // rejects with the error event
    const pid = child.pid!;
    return {
      pid,
      startTime: processStartTime(pid) ?? '',
      exited,
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      signal: (name) => signalGroup(pid, name),
      stop: async ({ termMs }) => {
        signalGroup(pid, 'SIGTERM');
        const end = clock.now() + termMs;
        while (groupLives(pid) && clock.now() < end) await clock.sleep(Math.min(20, end - clock.now()));
        signalGroup(pid, 'SIGKILL');
        return exited;
      },
      unref: () => child.unref(),
    };
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** Sends a signal to the whole group led by `pid`; ignores a group that no longer exists. */
export function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

const isGone = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ESRCH';

interface Stat {
  state: string;
  group: number;
  startTicks: string;
}

/** Parses /proc/<pid>/stat; the name in parentheses may contain spaces and parentheses. */
function stat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', group: Number(fields[2]), startTicks: fields[19] ?? '' };
  } catch {
    return undefined; // the process ended between two reads
  }
}

/** Whether a member lives. Zombies do not count: a container may have no init process that reaps orphans. */
function groupLives(pid: number): boolean {
  if (process.platform === 'linux') {
    return readdirSync('/proc').some((name) => {
      if (!/^\d+$/.test(name)) return false;
      const s = stat(Number(name));
      return s?.group === pid && s.state !== 'Z' && s.state !== 'X';
    });
  }
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * An opaque start time of the process, unique for this PID, also across reboots. Undefined if no such process lives (a
 * zombie does not live).
 */
export function processStartTime(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const s = stat(pid);
    if (!s || s.state === 'Z' || s.state === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${s.startTicks}`;
  }
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.stdout?.trim() || undefined;
}

/**
 * The start time as the process itself would tell it. In a container of systemd, a unit with mounts of its own sees the
 * boot ID of the host, and the container another one.
 */
function ownStartTime(pid: number): string | undefined {
  const s = process.platform === 'linux' ? stat(pid) : undefined;
  if (!s || s.state === 'Z' || s.state === 'X') return undefined;
  try {
    return `${readFileSync(`/proc/${pid}/root/proc/sys/kernel/random/boot_id`, 'utf8').trim()}/${s.startTicks}`;
  } catch {
    return undefined; // it belongs to another user, or has ended
  }
}

/** Whether this process lives, as opposed to a later one with the same PID. */
export const isAlive = ({ pid, startTime }: { pid: number; startTime: string }): boolean =>
  startTime !== '' && (processStartTime(pid) === startTime || ownStartTime(pid) === startTime);
