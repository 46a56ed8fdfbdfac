/** Runs one command in a sandbox, enforces its limits, and returns how it ended. Decision 0007. */
import { readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { errorText, type Clock } from '@platform/kit';
import { spawnGroup, type ProcessGroup } from '@platform/kit/node';
import { bwrapArguments, descriptors, type HostLayout, type Mount, type SandboxPlan } from './bwrap-plan.ts';
import { diskUse } from './disk-use.ts';
import type { ResourceLimiter, ResourceGroup } from './resource-group.ts';
import { childrenOf, deletedBytes, membersOf, residentBytes } from './members.ts';
import { hostOomKillsIn, memoryFailure } from './memory-failure.ts';
import { LineCap, LineSplitter } from './output-lines.ts';
import { seccompFilter } from './seccomp.ts';

/** A host that can run sandboxes; see `openSandboxes`. */
export interface Sandboxes {
  readonly host: HostLayout;
  readonly limiter: ResourceLimiter;
}
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
  /** Limit of the watched folders together, and of /tmp separately. */
  readonly diskBytes: number;
}
export interface SandboxTask {
  /** Letters, digits and hyphens; unique on this host while it runs. */
  readonly name: string;
  /** Folder for the sandbox's own files; created if missing. */
  readonly folder: string;
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly command: readonly string[];
  readonly uid: number;
  readonly network: boolean;
  /** Numbers of the GPUs that it may use. */
  readonly gpus: readonly number[];
  readonly limits: SandboxLimits;
  /**
   * Without a group, RLIMIT_DATA limits the memory of each process. With `counted`, only the memory in use counts: V8
   * reserves far more than it uses.
   */
  readonly memoryWithoutGroup?: 'each process' | 'counted';
  /** Folders on this host that it may write to. */
  readonly watched: readonly string[];
  /** Grace period after TERM. */
  readonly graceMs: number;
  readonly clock: Clock;
  onLine(stream: 'out' | 'err' | 'about', line: string): void;
  /** The root process, whose end ends the sandbox; a later runner uses it for cleanup. */
  onStart?(child: { pid: number; startTime: string }): void;
}
export type SandboxEnd =
  | { readonly is: 'exited'; readonly code: number }
  | { readonly is: 'signaled'; readonly signal: string }
  /** `why`: as the end of a sentence. */
  | { readonly is: 'outOfMemory'; readonly usedBytes: number; readonly why?: string }
  | { readonly is: 'diskLimit'; readonly used: string; readonly limit: string }
  | { readonly is: 'stopped' }
  /** The sandbox could not start, or was killed from outside: the result of the command is unknown. */
  | { readonly is: 'broken'; readonly problem: string };
export interface SandboxResult {
  readonly end: SandboxEnd;
  readonly lastLines: readonly string[];
  /** Processes that the kernel killed for memory; the command may still have succeeded. */
  readonly oomKills: number;
  /** Highest sampled memory of all processes together. */
  readonly peakBytes: number;
}

const pollMs = 100;
/** Scanning folders and processes takes longer than reading a counter. */
const countMs = 500;
const maxEntries = 20_000;
const keptLines = 20;
/** /tmp is in memory and reduces what other programs can use. */
const maxTmpBytes = 2 ** 30;
/** Time that the kernel may need to end processes that wait for a disk. */
const goneMs = 10_000;
const mib = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

/** The status that bubblewrap writes. `exitCode` is set if the command itself ran and ended. */
interface Status {
  readonly child?: number;
  readonly namespace?: number;
  readonly exitCode?: number;
}
function readStatus(file: string): Status {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return {};
  }
  const field = (name: string): number | undefined => {
    const digits = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1];
    return digits === undefined ? undefined : Number(digits);
  };
  const [child, namespace, exitCode] = ['child-pid', 'pid-namespace', 'exit-code'].map(field);
  return {
    ...(child === undefined ? {} : { child }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(exitCode === undefined ? {} : { exitCode }),
  };
}

/**
 * Enters the groups, opens the descriptors and executes bubblewrap. Arguments: status file, filter file, entrances …,
 * `--`, command.
 */
const launcher = [
  'status=$1; filter=$2; shift 2',
  // Closes inherited descriptors: a shell supports single digits only, the program inside closes the rest.
  'exec 5>&- 6>&- 7>&- 8>&- 9>&-',
  'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift',
  `exec "$@" ${descriptors.status}>"$status" ${descriptors.filter}<"$filter"`,
].join('\n');

function planOf(task: SandboxTask, kind: ResourceLimiter['kind'], passwd: string, group: string): SandboxPlan {
  const { limits } = task;
  return {
    ...task,
    mounts: [
      ...task.mounts,
      { from: passwd, to: '/etc/passwd', mode: 'ro' },
      { from: group, to: '/etc/group', mode: 'ro' },
    ],
    tmpBytes: Math.min(limits.diskBytes, limits.memoryBytes, maxTmpBytes),
    rlimits: {
      processes: limits.processes,
      fileBytes: limits.diskBytes,
      ...(kind === 'prlimit' && task.memoryWithoutGroup !== 'counted' ? { dataBytes: limits.memoryBytes } : {}),
    },
  };
}

/** Runs the command to its end, or ends it when the signal aborts: all its processes are gone then. */
export async function runSandboxed(
  sandboxes: Sandboxes,
  task: SandboxTask,
  signal: AbortSignal,
): Promise<SandboxResult> {
  if (signal.aborted) return { end: { is: 'stopped' }, ...nothingRan };
  let enclosure: ResourceGroup;
  try {
    enclosure = await sandboxes.limiter.open(task.name, task.limits);
  } catch (error) {
    return broken(`its control group could not be made: ${errorText(error)}`);
  }
  try {
    const run = new Run(task, enclosure);
    return await run.perform(sandboxes, signal);
  } finally {
    await enclosure.remove().catch((error: unknown) => {
      task.onLine('about', `The control group of the sandbox is left behind: ${errorText(error)}`);
    });
  }
}

const nothingRan = { lastLines: [], oomKills: 0, peakBytes: 0 } as const;
const broken = (problem: string): SandboxResult => ({ end: { is: 'broken', problem }, ...nothingRan });

class Run {
  readonly #task: SandboxTask;
  readonly #enclosure: ResourceGroup;
  readonly #statusFile: string;
  readonly #cap = new LineCap();
  readonly #lastLines: string[] = [];
  /** The first outcome that a watcher finds. */
  #outcome: SandboxEnd | undefined;
  #status: Status = {};
  #usedBytes = 0;
  /** Undefined: no group counts them. A systemd scope ends with its last process, and so does its counter. */
  #oomKills: number | undefined;
  readonly #hostOomKills = hostOomKills();

  constructor(task: SandboxTask, enclosure: ResourceGroup) {
    this.#task = task;
    this.#enclosure = enclosure;
    this.#statusFile = path.join(task.folder, 'status.json');
  }

  async perform(sandboxes: Sandboxes, signal: AbortSignal): Promise<SandboxResult> {
    const { clock } = this.#task;
    const group = await this.#start(sandboxes);
    this.#task.onStart?.(group);
    const ended = new AbortController();
    const output = Promise.all([this.#listen(group.stdout, 'out'), this.#listen(group.stderr, 'err')]);
    const exited = group.exited.then((exit) => {
      ended.abort();
      return exit;
    });
    const stop = this.#stopOn(signal, group, ended.signal);
    await Promise.all([this.#watch(group, ended.signal), this.#count(group, ended.signal)]);
    const exit = await exited;
    await stop;
    await this.#clear();
    // A process that still holds a pipe open must not block the result.
    await Promise.race([output, clock.sleep(goneMs)]);
    for (const text of this.#cap.end()) this.#task.onLine('about', text);
    this.#status = readStatus(this.#statusFile);
    await this.#look(group);
    const end = this.#endOf(exit.code, exit.signal, signal.aborted);
    return { end, lastLines: this.#lastLines, oomKills: this.#oomKills ?? 0, peakBytes: this.#usedBytes };
  }

  async #start({ host, limiter }: Sandboxes): Promise<ProcessGroup> {
    const { folder, uid, clock } = this.#task;
    await mkdir(folder, { recursive: true });
    const file = (name: string): string => path.join(folder, name);
    const shell = '/usr/sbin/nologin';
    await writeFile(file('passwd'), `root:x:0:0::/:${shell}\nscript:x:${uid}:${uid}::/tmp/home:/bin/sh\n`, {
      mode: 0o644,
    });
    await writeFile(file('group'), `root:x:0:\nscript:x:${uid}:\n`, { mode: 0o644 });
    const filter = seccompFilter(process.arch);
    await writeFile(file('filter.bpf'), filter ?? '');
    await writeFile(this.#statusFile, '');
    const plan = planOf(this.#task, limiter.kind, file('passwd'), file('group'));
    const bwrap = [...this.#enclosure.prefix, host.bwrap, ...bwrapArguments(host, plan, filter !== undefined)];
    const words = [this.#statusFile, file('filter.bpf'), ...this.#enclosure.entrances, '--', ...bwrap];
    // Every user of this host can read arguments, and one of the variables contains a key.
    const { env } = this.#task;
    return spawnGroup({ command: '/bin/sh', args: ['-c', launcher, 'sandbox', ...words], env, cwd: '/', clock });
  }

  async #listen(from: Readable | null, stream: 'out' | 'err'): Promise<void> {
    if (!from) return;
    const lines = new LineSplitter();
    const { clock } = this.#task;
    const keepLast = (line: string): void => {
      this.#lastLines.push(line);
      if (this.#lastLines.length > keptLines) this.#lastLines.shift();
    };
    const tell = (line: string): void => {
      if (line.trim() === '') return;
      for (const text of this.#cap.take(line, clock.now())) {
        this.#task.onLine(text === line ? stream : 'about', text);
      }
      keepLast(line);
    };
    for await (const chunk of from as AsyncIterable<Buffer>) {
      if (this.#cap.isFull(clock.now())) {
        this.#cap.skip(chunk);
        // Keep the last lines anyway: they may contain the cause of a failure.
        for (const line of lines.add(chunk.subarray(-2048)).filter((text) => text.trim() !== '')) keepLast(line);
      } else for (const line of lines.add(chunk)) tell(line);
    }
    for (const line of lines.end()) tell(line);
  }

  /** Polls the memory; a group makes this cheap enough for short intervals. */
  async #watch(group: ProcessGroup, ended: AbortSignal): Promise<void> {
    const { clock } = this.#task;
    while (!ended.aborted) {
      await clock.sleep(pollMs, ended);
      await this.#look(group);
    }
  }
  async #look(group: ProcessGroup): Promise<void> {
    const usage = await this.#enclosure.usage(group.pid).catch(() => undefined);
    if (!usage) return;
    this.#usedBytes = Math.max(this.#usedBytes, usage.memoryBytes);
    this.#oomKills = Math.max(this.#oomKills ?? 0, usage.oomKills);
  }

  /** Polls the disk, and the memory where no group limits it. */
  async #count(group: ProcessGroup, ended: AbortSignal): Promise<void> {
    const { clock, limits } = this.#task;
    while (!ended.aborted) {
      await clock.sleep(countMs, ended);
      if (ended.aborted) return;
      const over = await this.#overDisk();
      if (over !== undefined) this.#kill(group, { is: 'diskLimit', ...over });
      if (await this.#enclosure.usage(group.pid).catch(() => undefined)) continue;
      const used = residentBytes(this.#members());
      this.#usedBytes = Math.max(this.#usedBytes, used);
      if (used > limits.memoryBytes) this.#kill(group, { is: 'outOfMemory', usedBytes: used });
    }
  }
  async #overDisk(): Promise<{ used: string; limit: string } | undefined> {
    const { limits, watched } = this.#task;
    let bytes = 0;
    let entries = 0;
    for (const folder of watched) {
      const use = await diskUse(folder, { bytes: limits.diskBytes, entries: maxEntries });
      bytes += use.bytes;
      entries += use.entries;
    }
    // Folders on one device share their deleted files.
    const devices = new Set(watched.map((folder) => statSync(folder).dev));
    for (const device of devices) bytes += deletedBytes(this.#members(), device);
    if (entries > maxEntries) return { used: `more than ${maxEntries} files`, limit: `${maxEntries} files` };
    if (bytes > limits.diskBytes) return { used: mib(bytes), limit: mib(limits.diskBytes) };
    return undefined;
  }
  #members(): number[] {
    if (this.#status.namespace === undefined) this.#status = readStatus(this.#statusFile);
    return this.#status.namespace === undefined ? [] : membersOf(this.#status.namespace);
  }
  #kill(group: ProcessGroup, outcome: SandboxEnd): void {
    this.#outcome ??= outcome;
    group.signal('SIGKILL');
  }

  /** Sends TERM to the command itself, so that it can save its work; then kills the whole sandbox. */
  async #stopOn(signal: AbortSignal, group: ProcessGroup, ended: AbortSignal): Promise<void> {
    const { clock, graceMs } = this.#task;
    const either = AbortSignal.any([signal, ended]);
    await clock.sleep(Infinity, either);
    if (ended.aborted) return;
    this.#outcome ??= { is: 'stopped' };
    const { child } = readStatus(this.#statusFile);
    const commands = child === undefined ? [] : childrenOf(child);
    for (const pid of commands) {
      try {
        process.kill(pid, 'SIGTERM');
      } catch {
        // the process has already exited
      }
    }
    if (commands.length > 0) await clock.sleep(graceMs, ended);
    group.signal('SIGKILL');
  }
  /** Kills until no process of the sandbox is left. */
  async #clear(): Promise<void> {
    const { clock } = this.#task;
    const end = clock.now() + goneMs;
    for (;;) {
      const left = this.#members();
      if (left.length === 0) return;
      for (const pid of left) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // the process has already exited
        }
      }
      if (clock.now() > end)
        return this.#task.onLine('about', `Processes of the sandbox could not be ended: ${left.join(', ')}.`);
      await clock.sleep(10);
    }
  }

  #endOf(code: number | null, signalName: string | null, isAborted: boolean): SandboxEnd {
    if (this.#outcome) return this.#outcome;
    const { exitCode } = this.#status;
    const lastLine = this.#lastLines.at(-1);
    if (exitCode === undefined || isLaunchFailure(exitCode, lastLine)) {
      if (isAborted) return { is: 'stopped' };
      const how = signalName === null ? `it ended with code ${code}` : `it was ended by ${signalName}`;
      return { is: 'broken', problem: lastLine === undefined ? how : `${how}: ${lastLine}` };
    }
    if (exitCode === 0) return { is: 'exited', code: 0 };
    const why = memoryFailure({
      exitCode,
      lastLines: this.#lastLines,
      oomKills: this.#oomKills,
      hostOomKills: hostOomKills() - this.#hostOomKills,
    });
    if (why !== undefined) return { is: 'outOfMemory', usedBytes: this.#usedBytes, why };
    const name = exitCode > 128 ? signalNamed(exitCode - 128) : undefined;
    if (name === 'SIGXFSZ') {
      const limit = mib(this.#task.limits.diskBytes);
      return { is: 'diskLimit', used: `one file of ${limit}`, limit };
    }
    return name === undefined ? { is: 'exited', code: exitCode } : { is: 'signaled', signal: name };
  }
}

/** Processes that the kernel of this host killed for memory since boot. */
function hostOomKills(): number {
  try {
    return hostOomKillsIn(readFileSync('/proc/vmstat', 'utf8'));
  } catch {
    return 0;
  }
}

/** The Python found at the start no longer exists: no code of the script ran. */
export const isLaunchFailure = (exitCode: number, lastLine: string | undefined): boolean =>
  (exitCode === 126 || exitCode === 127) && /^(prlimit|setpriv): failed to execute /.test(lastLine ?? '');

function signalNamed(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}
