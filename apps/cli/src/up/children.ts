import { createWriteStream, mkdirSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { Clock, Log } from '@platform/kit';
import { atomicWrite, isAlive, type ProcessGroup, readJson, signalGroup, spawnGroup } from '@platform/kit/node';

export interface ChildSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Time between TERM and KILL on stop. */
  readonly termMs: number;
}

/** A supervised process: restarted after every unexpected exit. */
export interface Child {
  readonly name: string;
  pid(): number | undefined;
  stop(): Promise<void>;
}

interface Recorded {
  readonly name: string;
  readonly pid: number;
  readonly startTime: string;
}

/** The first start failed: the child exited before it was ready. `tail` has its last lines on stderr. */
export class ChildFailed extends Error {
  readonly tail: readonly string[];
  constructor(name: string, how: string, tail: readonly string[]) {
    super(`${name} ${how}`);
    this.name = 'ChildFailed';
    this.tail = tail;
  }
}

const firstPauseMs = 500;
const longestPauseMs = 20_000;

/**
 * The processes of one data folder. A file stores their PIDs and start times, so that the next start ends what a killed
 * predecessor left running.
 */
export class Children {
  readonly #file: string;
  readonly #logFolder: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #running = new Map<string, Recorded>();

  constructor(of: { file: string; logFolder: string; clock: Clock; log: Log }) {
    this.#file = of.file;
    this.#logFolder = of.logFolder;
    this.#clock = of.clock;
    this.#log = of.log;
  }

  /** Ends processes of a predecessor: TERM, up to `termMs`, then KILL. Returns their names. */
  async endLeftovers(termMs: number): Promise<string[]> {
    const saved = (await readJson(this.#file).catch(() => undefined)) as { children?: Recorded[] } | undefined;
    const alive = (saved?.children ?? []).filter((child) => isAlive(child));
    for (const child of alive) signalGroup(child.pid, 'SIGTERM');
    const end = this.#clock.now() + termMs;
    while (alive.some((child) => isAlive(child)) && this.#clock.now() < end) await this.#clock.sleep(50);
    for (const child of alive.filter((one) => isAlive(one))) signalGroup(child.pid, 'SIGKILL');
    return alive.map((child) => child.name);
  }

  /**
   * Starts `spec` and keeps it running. Resolves with the first line on its stdout (or at once with `isReadyAtOnce`).
   * `next` may change the command line of later starts, for example to keep the port of the first one.
   *
   * @throws ChildFailed when it exits before it was ready for the first time.
   */
  async keep(
    spec: ChildSpec,
    how: { isReadyAtOnce?: boolean; next?: (readyLine: string) => ChildSpec } = {},
  ): Promise<{ child: Child; readyLine: string }> {
    const stop = new AbortController();
    const state: { group: ProcessGroup | undefined; spec: ChildSpec } = { group: undefined, spec };
    const first = await this.#start(spec, how.isReadyAtOnce ?? false);
    state.group = first.group;
    state.spec = how.next?.(first.readyLine) ?? spec;
    const kept = this.#keepRunning(state, stop.signal);
    const child: Child = {
      name: spec.name,
      pid: () => state.group?.pid,
      stop: async () => {
        stop.abort();
        await state.group?.stop({ termMs: state.spec.termMs });
        await kept;
      },
    };
    return { child, readyLine: first.readyLine };
  }

  /**
   * Runs `spec` once, with low priority. Ends it with `signal`.
   *
   * @returns its stdout.
   * @throws ChildFailed when it fails.
   */
  async runOnce(spec: ChildSpec, signal: AbortSignal): Promise<string> {
    mkdirSync(this.#logFolder, { recursive: true });
    const group = await spawnGroup(spec);
    this.#running.set(spec.name, { name: spec.name, pid: group.pid, startTime: group.startTime });
    await this.#record();
    const stop = (): void => void group.stop({ termMs: spec.termMs });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      setPriority(group.pid, constants.priority.PRIORITY_LOW);
    } catch {
      // it has ended already
    }
    const [out, errors, { code, signal: by }] = await Promise.all([
      group.stdout ? text(group.stdout) : '',
      group.stderr ? text(group.stderr) : '',
      group.exited,
    ]);
    signal.removeEventListener('abort', stop);
    this.#running.delete(spec.name);
    await this.#record();
    await appendFile(path.join(this.#logFolder, `${spec.name}.log`), errors);
    if (code !== 0) throw new ChildFailed(spec.name, `ended with ${code ?? by}`, errors.trim().split('\n').slice(-12));
    return out;
  }

  async #keepRunning(state: { group: ProcessGroup | undefined; spec: ChildSpec }, stop: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    for (;;) {
      const since = this.#clock.now();
      const exit = await state.group?.exited;
      this.#running.delete(state.spec.name);
      await this.#record();
      if (stop.aborted) return;
      if (this.#clock.now() - since > 60_000) pauseMs = firstPauseMs;
      this.#log.warn('a process ended by itself and is started again', {
        process: state.spec.name,
        code: exit?.code,
        signal: exit?.signal,
        pauseMs,
      });
      await this.#clock.sleep(pauseMs, stop);
      if (stop.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      try {
        state.group = (await this.#start(state.spec, true)).group;
        // A stop during the start has only seen the previous process.
        if (stop.aborted) await state.group.stop({ termMs: state.spec.termMs });
      } catch (error) {
        this.#log.error('a process could not be started', { process: state.spec.name, error: String(error) });
      }
    }
  }

  async #start(spec: ChildSpec, isReadyAtOnce: boolean): Promise<{ group: ProcessGroup; readyLine: string }> {
    mkdirSync(this.#logFolder, { recursive: true });
    const logFile = path.join(this.#logFolder, `${spec.name}.log`);
    const group = await spawnGroup({ ...spec, stderrFile: logFile });
    this.#running.set(spec.name, { name: spec.name, pid: group.pid, startTime: group.startTime });
    await this.#record();
    const stdout = group.stdout;
    if (!stdout) throw new Error('the output of a child was not piped');
    const copy = createWriteStream(logFile, { flags: 'a' });
    const lines = createInterface({ input: stdout });
    if (isReadyAtOnce) {
      lines.on('line', (line) => copy.write(`${line}\n`));
      return { group, readyLine: '' };
    }
    const ready = new Promise<string>((resolve) => lines.once('line', resolve));
    const ended = group.exited.then(async ({ code, signal }) => {
      const logged = await readFile(logFile, 'utf8').catch(() => '');
      throw new ChildFailed(
        spec.name,
        `ended with ${code ?? signal} before it was ready`,
        logged.trim().split('\n').slice(-12),
      );
    });
    ended.catch(() => {}); // the supervising loop handles later exits
    const readyLine = await Promise.race([ready, ended]);
    lines.on('line', (line) => copy.write(`${line}\n`));
    return { group, readyLine };
  }

  #record(): Promise<void> {
    return atomicWrite(this.#file, JSON.stringify({ children: [...this.#running.values()] }, null, 1), { mode: 0o600 });
  }
}
