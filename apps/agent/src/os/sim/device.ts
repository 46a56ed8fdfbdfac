import type { RestartStatus } from '@platform/contract/machine-server/machine-server';
import type { ResourceReport } from '@platform/contract/machine-server/resource-report';
import type { Clock } from '@platform/kit';
import { fileDisk } from '../file-disk.ts';
import type {
  Device,
  FileSystem,
  FileSystemFacts,
  Host,
  HostFacts,
  Processes,
  ResetCause,
  UsageReading,
} from '../ports.ts';
import { simLines } from './disk.ts';
import { simFileSystem, type Fate, type Step } from './file-system.ts';
import { SimFiles, type Survivors } from './files.ts';
import { SimProcesses } from './processes.ts';
import { simReleases, simWeb, type SimReleases } from './web.ts';

interface Life {
  isKilled: boolean;
}

/** A machine in memory, on the time of a given clock; several agents can run on it in turn. */
export class SimDevice {
  readonly files = new SimFiles();
  readonly releases: SimReleases = simReleases();
  readonly processes: SimProcesses;
  /** The answers of a running server. */
  resources: ResourceReport | undefined;
  status: RestartStatus | undefined = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  isSupervisedBySystemd = false;
  facts: HostFacts = {};
  hostname = 'sim';
  /** Undefined: it cannot be measured. */
  fileSystem: FileSystemFacts | undefined = { mountPoint: '/', isNoExec: false, freeBytes: 1e9 };
  usage: UsageReading = {};
  resetCause: ResetCause | undefined;
  /** Called before each step that changes the disk or starts a program. */
  fate: (step: Step) => Fate = () => 'ok';
  /** Wraps the agent's view of the disk. */
  wrap: (files: FileSystem) => FileSystem = (files) => files;
  readonly #clock: Clock;
  #boots = 1;
  readonly #lives = new Set<Life>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.files.wall = () => clock.wall();
    this.processes = new SimProcesses(clock, this.files);
  }

  /** Device and clock for one agent. After `kill`, its calls never resolve, as if its process were dead. */
  session(): { device: Device; clock: Clock; kill(): void } {
    const life: Life = { isKilled: false };
    this.#lives.add(life);
    const clock: Clock = {
      now: () => this.#clock.now(),
      wall: () => this.#clock.wall(),
      sleep: async (ms, signal) => {
        await this.#clock.sleep(ms, signal);
        if (life.isKilled) await never();
      },
    };
    const host: Host = {
      hostname: () => this.hostname,
      platform: 'linux/amd64',
      distro: () => 'sim:1',
      tags: ['platform-agent'],
      bootId: this.bootId,
      isSupervisedBySystemd: this.isSupervisedBySystemd,
      abilities: { managesNetworks: false, managesSystem: false },
    };
    const files = this.#mortalFiles(life);
    const [processes, lines] = [this.#processes(), simLines(this.files)];
    const device: Device = {
      // A synchronous call has to return to a killed agent, too.
      processes: { ...mortal(processes, life), adopt: (id) => (life.isKilled ? undefined : processes.adopt(id)) },
      files,
      disk: fileDisk(files),
      lines: { ...mortal(lines, life), follow: lines.follow },
      web: mortal(simWeb(this.releases, clock), life),
      probe: mortal({ restartStatus: async () => this.status, resourceReport: async () => this.resources }, life),
      host,
      hostFacts: async () => this.facts,
      fileSystem: async () => this.fileSystem,
      usage: async () => this.usage,
      resetCause: async () => this.resetCause,
    };
    return { device, clock, kill: () => void (life.isKilled = true) };
  }

  get bootId(): string {
    return `boot-${this.#boots}`;
  }

  /** Kills everything that runs; `restore` decides what the disk holds when the power is back. */
  cutPower(): void {
    for (const life of this.#lives) life.isKilled = true;
    this.#lives.clear();
    this.processes.endAll();
  }

  restore(survivors: Survivors): void {
    this.#boots++;
    this.files.cutPower(survivors);
  }

  /** Performs a step, unless the fate is a failure or a power cut. */
  async step<T>(step: Step, work: () => Promise<T>): Promise<T> {
    const fate = this.fate(step);
    if (fate === 'ok') return work();
    if (typeof fate !== 'string') throw Object.assign(new Error('it cannot be started'), { code: 'EIO' });
    if (fate !== 'lostBefore') void work();
    this.cutPower();
    return never();
  }

  #processes(): Processes {
    const port = this.processes.port();
    return {
      ...port,
      start: (command) => this.step({ do: 'exec', path: command.program }, () => port.start(command)),
    };
  }

  #mortalFiles(life: Life): FileSystem {
    const port = simFileSystem(this.files, (step) => {
      const fate = this.fate(step);
      if (typeof fate === 'string' && fate !== 'ok') this.cutPower();
      return fate;
    });
    const wrapped = this.wrap(port);
    const handle = async <T extends object>(opened: Promise<T>): Promise<T> => mortal(await opened, life);
    return mortal(
      {
        ...wrapped,
        openRead: (path: string) => handle(wrapped.openRead(path)),
        openWrite: (path: string, how: { mode: number; append?: boolean }) => handle(wrapped.openWrite(path, how)),
      },
      life,
    );
  }
}

const never = (): Promise<never> => new Promise(() => {});

/** Calls of a killed agent's port never resolve. */
function mortal<T extends object>(port: T, life: Life): T {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (life.isKilled) return never();
        const answer: unknown = Reflect.apply(value, target, args);
        return answer instanceof Promise ? answer.then((v: unknown) => (life.isKilled ? never() : v)) : answer;
      };
    },
  });
}
