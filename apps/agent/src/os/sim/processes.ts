import type { Clock } from '@platform/kit';
import type { Exit, ProcessId, Processes, RunningProcess, ProcessInfo } from '../ports.ts';
import type { SimFiles } from './files.ts';

interface SimProcess {
  id: ProcessId;
  /** PID of the group leader. */
  group: number;
  isMarked: boolean;
  script: string;
  ignored: Set<string>;
  exit: Exit | undefined;
  ended: AbortController;
}

/**
 * Interprets a small subset of shell: echo TEXT [>&2], sleep SECONDS [&], trap '' SIGNALS, exit CODE. `$!` is the last
 * child. This is enough for programs that behave, misbehave or leave children.
 */
export class SimProcesses {
  readonly #clock: Clock;
  readonly #files: SimFiles;
  readonly #all = new Map<number, SimProcess>();
  /** As systemd does. */
  remembersEnds = false;
  /** Foreign processes, not started by an agent. */
  foreign: (ProcessInfo & { program: string; port: number })[] = [];
  /** The code of the error with which starts fail; undefined: they do not. */
  refusesStart: 'EMFILE' | 'ENFILE' | undefined;
  /** What the agent gave to the process that it started last. */
  lastEnvironment: Readonly<Record<string, string>> = {};
  #lastPid = 100;

  constructor(clock: Clock, files: SimFiles) {
    this.#clock = clock;
    this.#files = files;
  }

  isAlive(pid: number): boolean {
    const p = this.#all.get(pid);
    return p !== undefined && p.exit === undefined;
  }

  /** PIDs of running processes that agents started, without children. */
  get running(): number[] {
    return [...this.#all.values()].filter((p) => p.isMarked && !p.exit && p.group === p.id.pid).map((p) => p.id.pid);
  }

  /** Ends all processes, as a power cut does. */
  endAll(): void {
    for (const p of this.#all.values()) this.#end(p, { code: null, signal: null });
  }

  /** The view of one agent, the parent of what it starts. */
  port(): Processes {
    return {
      ended: async ({ pid, startTime }) => {
        const p = this.#all.get(pid);
        return this.remembersEnds && p?.id.startTime === startTime ? p.exit : undefined;
      },
      isReplaced: async ({ pid }, program) => {
        const p = this.#all.get(pid);
        const script = this.#script(program);
        return p !== undefined && script !== undefined && script !== p.script;
      },
      foreignProcesses: async (program) => this.foreign.filter((s) => s.program === program),
      listener: async (port) => this.foreign.find((s) => s.port === port),
      start: async ({ program, env, stdoutFile, stderrFile }) => {
        if (this.refusesStart !== undefined)
          throw Object.assign(new Error(`spawn ${this.refusesStart}`), { code: this.refusesStart });
        const script = this.#script(program);
        if (script === undefined) throw Object.assign(new Error(`${program}: no such file`), { code: 'ENOENT' });
        this.lastEnvironment = env;
        const p = this.#make();
        p.script = script;
        void this.#interpret(p, script, stdoutFile, stderrFile);
        return this.#handle(p, (exit) => exit);
      },
      adopt: (id) => {
        const p = this.#all.get(id.pid);
        if (!p || p.exit || p.id.startTime !== id.startTime) return undefined;
        return this.#handle(p, () => ({ code: null, signal: null }));
      },
      find: async () =>
        [...this.#all.values()].filter((p) => p.isMarked && !p.exit && p.group === p.id.pid).map((p) => ({ ...p.id })),
    };
  }

  #script(program: string): string | undefined {
    const file = this.#files.get(program);
    return file && new TextDecoder().decode(file.bytes);
  }

  #make(group?: number): SimProcess {
    const pid = ++this.#lastPid;
    const p: SimProcess = {
      id: { pid, startTime: `sim/${pid}` },
      group: group ?? pid,
      isMarked: true,
      script: '',
      ignored: new Set(),
      exit: undefined,
      ended: new AbortController(),
    };
    this.#all.set(pid, p);
    return p;
  }

  #end(p: SimProcess, exit: Exit): void {
    if (p.exit) return;
    p.exit = exit;
    p.ended.abort();
  }

  #handle(p: SimProcess, seen: (exit: Exit) => Exit): RunningProcess {
    const exited = new Promise<Exit>((resolve) => {
      const tell = () => {
        const left = [...this.#all.values()].filter((o) => o !== p && o.group === p.group && !o.exit);
        const leftBehind = left.map((o) => ({ pid: o.id.pid, command: 'child' }));
        const exit = p.exit ?? { code: null, signal: null };
        resolve(seen(exit.code === 0 && leftBehind.length > 0 ? { ...exit, leftBehind } : exit));
      };
      if (p.exit) tell();
      else p.ended.signal.addEventListener('abort', tell, { once: true });
    });
    return {
      id: { ...p.id },
      exited,
      signal: (name) => {
        const targets = name === 'KILL' ? [...this.#all.values()].filter((o) => o.group === p.group) : [p];
        for (const target of targets) {
          if (!target.ignored.has(name)) this.#end(target, { code: null, signal: `SIG${name}` });
        }
      },
    };
  }

  async #interpret(p: SimProcess, script: string, stdout: string, stderr: string): Promise<void> {
    let lastChild = 0;
    for (const line of script.split('\n')) {
      if (p.exit) return;
      const [word, rest] = [line.split(' ')[0], line.slice(line.indexOf(' ') + 1).replaceAll('$!', String(lastChild))];
      if (word === 'echo') {
        const isError = rest.endsWith(' >&2');
        const text = rest.replace(/ >&2$/, '').replace(/^'(.*)'$/, '$1');
        this.#files.append(isError ? stderr : stdout, new TextEncoder().encode(`${text}\n`));
      } else if (word === 'sleep' && rest.endsWith('&')) {
        const child = this.#make(p.group);
        child.ignored = new Set(p.ignored);
        lastChild = child.id.pid;
        void this.#clock
          .sleep(Number.parseFloat(rest) * 1000, child.ended.signal)
          .then(() => this.#end(child, { code: 0, signal: null }));
      } else if (word === 'sleep') {
        await this.#clock.sleep(Number.parseFloat(rest) * 1000, p.ended.signal);
      } else if (word === 'trap') {
        for (const name of rest.split(' ').slice(1)) p.ignored.add(name);
      } else if (word === 'exit') {
        return this.#end(p, { code: Number(rest), signal: null });
      }
    }
    this.#end(p, { code: 0, signal: null });
  }
}
