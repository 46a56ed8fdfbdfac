/** Runs the trainer as a child process and reads its reports. */
import { getPriority, setPriority } from 'node:os';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { isErrorCode } from '@platform/contract/errors/errors';
import { parseJobEvent } from '@platform/contract/job/job';
import type { JobEvent } from '@platform/contract/job/job';
import type { Clock } from '@platform/kit';
import { spawnGroup, type Exit } from '@platform/kit/node';
import type { TrainerError } from '../attempt-life.ts';
import type { JobFolder } from '../job/folder.ts';
import { forgetTrainer, rememberTrainer } from './orphan.ts';
import { tailOf, type Tail } from './tail.ts';

export interface TrainerTask {
  folder: JobFolder;
  command: readonly string[];
  env: Record<string, string | undefined>;
  memoryMib: number;
  /** Added to the runner's own nice value. */
  nice: number;
  /** Grace period after TERM. */
  graceMs: number;
  clock: Clock;
  onEvent(event: JobEvent): void;
  onLine(level: 'info' | 'error', line: string): void;
}
export interface TrainerEnd {
  exit: Exit;
  reported: TrainerError | undefined;
  /** Set if the runner ended it because it exceeded its memory limit: the memory used. */
  overMemoryMib: number | undefined;
  lastLines: readonly string[];
}

const pollMs = 200;
const keptLines = 20;
/** Limit of the system. */
const highestNice = 19;

/** Reports of a trainer: events in a file, lines on stdout and stderr. */
export class TrainerReports {
  readonly lastLines: string[] = [];
  #lastError: TrainerError | undefined;
  readonly #events: Tail;
  readonly #to: Pick<TrainerTask, 'onEvent' | 'onLine'>;

  /** @param eventsFile - must exist. */
  constructor(eventsFile: string, to: Pick<TrainerTask, 'onEvent' | 'onLine'>) {
    this.#events = tailOf(eventsFile);
    this.#to = to;
  }
  /** The last error that the trainer reported. */
  get lastError(): TrainerError | undefined {
    return this.#lastError;
  }
  line(stream: 'out' | 'err', text: string): void {
    if (text.trim() === '') return;
    this.lastLines.push(text);
    if (this.lastLines.length > keptLines) this.lastLines.shift();
    this.#to.onLine(stream === 'out' ? 'info' : 'error', text);
  }
  /** Processes the events written since the last call. */
  hear(how: 'read' | 'end'): void {
    for (const text of this.#events[how]()) {
      const event = eventOf(text);
      if (!event) this.line('out', text);
      else {
        const { is } = event;
        if (is === 'error')
          this.#lastError = { code: isErrorCode(event.code) ? event.code : 'TRAINER_FAILED', message: event.message };
        this.#to.onEvent(event);
      }
    }
  }
  /** Processes events until the signal. */
  async listen(clock: Clock, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await clock.sleep(pollMs, ended);
      this.hear('read');
    }
    this.hear('end');
  }
}

/** Runs the trainer to its end, or ends it when the signal aborts. */
export async function runTrainer(task: TrainerTask, signal: AbortSignal): Promise<TrainerEnd> {
  const { folder, clock } = task;
  const [command = '', ...args] = task.command;
  const output = { stdoutFile: folder.file('log'), stderrFile: `${folder.file('log')}.err` };
  for (const file of Object.values(output)) closeSync(openSync(file, 'a'));
  const group = await spawnGroup({ command, args, env: task.env, cwd: folder.path, ...output, clock });
  rememberTrainer(folder.path, group);
  lowerPriority(group.pid, task.nice);

  const reports = new TrainerReports(folder.file('events'), task);
  const tails = { out: tailOf(output.stdoutFile), err: tailOf(output.stderrFile) };
  const hear = (how: 'read' | 'end'): void => {
    reports.hear(how);
    for (const text of tails.out[how]()) reports.line('out', text);
    for (const text of tails.err[how]()) reports.line('err', text);
  };

  const ended = new AbortController();
  let stopping: Promise<unknown> | undefined;
  let overMemoryMib: number | undefined;
  const stop = (termMs: number): void => {
    stopping ??= group.stop({ termMs });
  };
  const onAbort = (): void => stop(task.graceMs);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const exited = group.exited.then((exit) => {
    ended.abort();
    return exit;
  });
  while (!ended.signal.aborted) {
    await clock.sleep(pollMs, ended.signal);
    hear('read');
    const used = residentMib(group.pid);
    if (used !== undefined && used > task.memoryMib) {
      overMemoryMib ??= Math.round(used);
      stop(0);
    }
  }
  const exit = await exited;
  // This also ends child processes that the trainer left behind.
  stop(0);
  await stopping;
  signal.removeEventListener('abort', onAbort);
  hear('end');
  forgetTrainer(folder.path);
  return { exit, reported: reports.lastError, overMemoryMib, lastLines: reports.lastLines };
}

function eventOf(text: string): JobEvent | undefined {
  try {
    return parseJobEvent(JSON.parse(text));
  } catch {
    return undefined; // not an event: a trainer may write any text
  }
}
function lowerPriority(pid: number, nice: number): void {
  try {
    setPriority(pid, Math.min(getPriority() + nice, highestNice));
  } catch {
    // the process has already exited
  }
}

/** Resident memory of a process in MiB; undefined if the process is gone or the system has no /proc. */
function residentMib(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) / 1024;
  } catch {
    return undefined;
  }
}
