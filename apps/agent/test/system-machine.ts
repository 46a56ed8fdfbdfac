// A machine whose operating system is a folder and whose programs are functions.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Cell, oneAtATime } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import type { Condition } from '../src/health/conditions.ts';
import { managedFilesOnDisk } from '../src/os/managed-files-on-disk.ts';
import type { PackageTask, PackageTasks } from '../src/os/package-tasks.ts';
import type { ProgramResult } from '../src/os/ports.ts';
import { simDisk, type DiskFaults } from '../src/os/sim/disk.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import type { SystemSettings } from '../src/state/state.ts';
import type { SystemGoal } from '../src/system/system-goal.ts';
import type { SystemParts } from '../src/system/system-parts.ts';

/** Answers a program that the agent runs; undefined: it is not installed. */
export type Answer = (command: string) => Promise<ProgramResult | undefined> | ProgramResult | undefined;

/** Package managers: a task ends at once, or when the test ends it. */
class SimPackages implements PackageTasks {
  readonly started: string[] = [];
  /** What the next task does; its exit code and output. */
  next: (name: string) => Promise<{ code: number; lines?: string[] }> = async () => ({ code: 0 });
  task: PackageTask = { is: 'none' };
  #lines: readonly string[] = [];

  async start(name: string): Promise<void> {
    this.started.push(name);
    this.task = { is: 'running', name };
    const { code, lines = [] } = await this.next(name);
    this.end(code, lines);
  }

  end(code: number, lines: readonly string[] = []): void {
    this.#lines = lines;
    if (this.task.is === 'running') this.task = { is: 'ended', name: this.task.name, code };
  }

  look = async (): Promise<PackageTask> => this.task;
  lastLines = async (): Promise<readonly string[]> => this.#lines;

  async clear(): Promise<void> {
    this.task = { is: 'none' };
  }
}

/** @param places - folders that the test has made; left out: new ones */
export async function systemMachine(
  answer: Answer = () => ({ code: 0, text: '' }),
  places: { prefix?: string; root?: string } = {},
) {
  const folder = await tempFolder();
  const { prefix = folder.file('system'), root = folder.file('opt') } = places;
  await mkdir(path.join(root, 'state'), { recursive: true });
  const clock = new FakeClock();
  const conditions = new Cell<readonly Condition[]>([]);
  const ran: string[] = [];
  const packages = new SimPackages();
  const task = new Cell('');
  const captured = captureLog(clock);
  const faults: DiskFaults = {};
  const disk = simDisk(new SimFiles(), faults);
  const place = (file: string): string => path.join(prefix, file);
  const parts = (): SystemParts => ({
    managedFiles: managedFilesOnDisk(root),
    programs: {
      run: async (program, ...args) => {
        const command = [program, ...args].join(' ');
        ran.push(command);
        return (await answer(command)) ?? { code: -1, text: `spawn ${program} ENOENT` };
      },
    },
    disk,
    packages,
    inTurn: oneAtATime(),
    task,
    prefix,
    conditions,
    clock,
    log: captured.log,
  });
  return {
    prefix,
    root,
    clock,
    conditions,
    /** Faults of the disk with the state of the agent. */
    faults,
    ran,
    packages,
    task,
    logged: (): string[] => captured.text().split('\n'),
    /** Made anew for each run of the agent. */
    parts,
    read: (file: string): Promise<string | undefined> => readFile(place(file), 'utf8').catch(() => undefined),
    async put(file: string, text: string): Promise<void> {
      await mkdir(path.dirname(place(file)), { recursive: true });
      await writeFile(place(file), text);
    },
    remove: (file: string): Promise<void> => rm(place(file), { force: true }),
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  };
}

export const systemGoal = (system: Partial<SystemSettings> | undefined, isPreliminary = false): SystemGoal => ({
  revision: 1,
  configSha256: '',
  isPreliminary,
  isDisabled: false,
  system: system && { runtimeMaxMegabytes: 512, systemMaxMegabytes: 512, upgradeType: '', ...system },
});
