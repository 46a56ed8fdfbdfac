import type { RestartStatus } from '@platform/contract/machine';
import type { Clock } from '@platform/kit';
import type { Device, Host } from '../ports.ts';
import { simDisk, simLines, type DiskFaults } from './disk.ts';
import { SimFiles } from './files.ts';
import { SimProcesses } from './processes.ts';
import { simVersions, type SimReleases } from './versions.ts';

/** A machine that lives in memory and in the time of a given clock; agents come and go on it. */
export class SimDevice {
  readonly files = new SimFiles();
  readonly faults: DiskFaults = {};
  readonly releases: SimReleases = { files: new Map(), isReachable: true, isStuck: false, freeBytes: Infinity };
  readonly processes: SimProcesses;
  /** What a running server answers. */
  status: RestartStatus | undefined = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  readonly #clock: Clock;
  readonly #idOf: (version: string, sha256: string) => string;

  constructor(clock: Clock, idOf: (version: string, sha256: string) => string) {
    this.#clock = clock;
    this.#idOf = idOf;
    this.processes = new SimProcesses(clock, this.files);
  }

  /** The device and the clock as one agent has them. After `kill` it gets no answer any more, as if it were not. */
  session(): { device: Device; clock: Clock; kill(): void } {
    const life = { isKilled: false };
    const clock: Clock = {
      now: () => this.#clock.now(),
      wall: () => this.#clock.wall(),
      sleep: async (ms, signal) => {
        await this.#clock.sleep(ms, signal);
        if (life.isKilled) await never();
      },
    };
    const host: Host = {
      hostname: 'sim',
      platform: 'linux/amd64',
      distro: 'sim:1',
      tags: ['platform-agent'],
      isSupervisedBySystemd: false,
    };
    const device: Device = {
      processes: mortal(this.processes.port(), life),
      disk: mortal(simDisk(this.files, this.faults), life),
      lines: mortal(simLines(this.files), life),
      versions: mortal(simVersions(this.files, this.releases, this.#idOf, clock), life),
      probe: mortal({ restartStatus: async () => this.status }, life),
      host,
    };
    return { device, clock, kill: () => void (life.isKilled = true) };
  }
}

const never = (): Promise<never> => new Promise(() => {});

/** Every call of a killed agent's port ends nowhere. */
function mortal<T extends object>(port: T, life: { isKilled: boolean }): T {
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
