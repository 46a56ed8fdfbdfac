/** What holds memory, processes and processor time of all that runs in one sandbox together. */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
}
export interface Usage {
  readonly memoryBytes: number;
  /** Processes that the kernel killed because the memory was used up. */
  readonly oomKills: number;
}
/** Of one sandbox. */
export interface ResourceGroup {
  /** Files into which a process writes its own number to enter, before it starts anything. */
  readonly entrances: readonly string[];
  /** Put before the command. */
  readonly prefix: readonly string[];
  /** Undefined where only each process is limited: then whoever watches has to count. */
  usage(pid: number): Promise<Usage | undefined>;
  remove(): Promise<void>;
}
/** Makes enclosures of one kind. */
export interface ResourceLimiter {
  readonly kind: 'systemd' | 'cgroup2' | 'cgroup1' | 'prlimit';
  /** `name`: letters, digits and hyphens; unique on this computer. Throws errors of the file system. */
  open(name: string, limits: ResourceLimits): Promise<ResourceGroup>;
  /** Ends and removes what was left of sandboxes whose name begins so. @returns how many. */
  sweep(prefix: string): Promise<number>;
}

/** Limits of each process alone: what is left where the system lends us no group. */
export const prlimitLimiter: ResourceLimiter = {
  kind: 'prlimit',
  sweep: () => Promise.resolve(0),
  open: () =>
    Promise.resolve({
      entrances: [],
      prefix: [],
      usage: () => Promise.resolve(undefined),
      remove: () => Promise.resolve(),
    }),
};

const numberIn = async (file: string): Promise<number> => Number((await readFile(file, 'utf8')).trim());
const fieldIn = async (file: string, name: string): Promise<number> => {
  const text = await readFile(file, 'utf8');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};

/** A group that is being left takes a moment to be empty. */
async function removeGroup(folder: string, kill: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await rmdir(folder);
      return;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT') return;
      if (attempt === 200) throw error;
      await kill();
    }
  }
}

async function killMembers(folder: string): Promise<void> {
  const text = await readFile(path.join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of text.split('\n').filter(Boolean).map(Number)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has gone by itself.
    }
  }
}

async function sweepGroups(folders: readonly (string | undefined)[], prefix: string): Promise<number> {
  const names = new Set<string>();
  for (const folder of folders) {
    if (folder === undefined) continue;
    for (const name of await readdir(folder).catch(() => [])) {
      if (!name.startsWith(`platform-${prefix}-`)) continue;
      names.add(name);
      const group = path.join(folder, name);
      await killMembers(group);
      await removeGroup(group, () => killMembers(group));
    }
  }
  return names.size;
}

/** Control groups, version 1: one tree per controller. `folders`: our own place in each. */
export function cgroup1Limiter(folders: { memory: string; pids: string; cpu?: string }): ResourceLimiter {
  return {
    kind: 'cgroup1',
    sweep: (prefix) => sweepGroups([folders.memory, folders.pids, folders.cpu], prefix),
    open: async (name, { memoryBytes, processes, cpus }) => {
      const at = (folder: string): string => path.join(folder, `platform-${name}`);
      const groups = [at(folders.memory), at(folders.pids), ...(folders.cpu === undefined ? [] : [at(folders.cpu)])];
      const remove = async (): Promise<void> => {
        for (const group of groups) await removeGroup(group, () => killMembers(group));
      };
      try {
        for (const group of groups) await mkdir(group, { recursive: true });
        await writeFile(path.join(at(folders.memory), 'memory.limit_in_bytes'), String(memoryBytes));
        // Swap counts as memory, where it is counted at all.
        await writeFile(path.join(at(folders.memory), 'memory.memsw.limit_in_bytes'), String(memoryBytes)).catch(
          () => {},
        );
        await writeFile(path.join(at(folders.pids), 'pids.max'), String(processes));
        if (folders.cpu !== undefined) {
          await writeFile(path.join(at(folders.cpu), 'cpu.cfs_period_us'), '100000');
          await writeFile(path.join(at(folders.cpu), 'cpu.cfs_quota_us'), String(Math.round(cpus * 100_000)));
        }
      } catch (error) {
        await remove();
        throw error;
      }
      return {
        entrances: groups.map((group) => path.join(group, 'cgroup.procs')),
        prefix: [],
        usage: async () => ({
          memoryBytes: await numberIn(path.join(at(folders.memory), 'memory.max_usage_in_bytes')),
          oomKills: await fieldIn(path.join(at(folders.memory), 'memory.oom_control'), 'oom_kill'),
        }),
        remove,
      };
    },
  };
}

/** Control groups, version 2. `folder`: a group that was lent to us, with its controllers passed on to groups below it. */
export function cgroup2Limiter(folder: string): ResourceLimiter {
  return {
    kind: 'cgroup2',
    sweep: (prefix) => sweepGroups([folder], prefix),
    open: async (name, { memoryBytes, processes, cpus }) => {
      const group = path.join(folder, `platform-${name}`);
      const remove = (): Promise<void> =>
        removeGroup(group, () => writeFile(path.join(group, 'cgroup.kill'), '1').catch(() => killMembers(group)));
      try {
        await mkdir(group, { recursive: true });
        await writeFile(path.join(group, 'memory.max'), String(memoryBytes));
        await writeFile(path.join(group, 'memory.swap.max'), '0').catch(() => {});
        await writeFile(path.join(group, 'pids.max'), String(processes));
        // Processor time may be kept by whoever lent us the rest.
        await writeFile(path.join(group, 'cpu.max'), `${Math.round(cpus * 100_000)} 100000`).catch(() => {});
      } catch (error) {
        await remove();
        throw error;
      }
      return {
        entrances: [path.join(group, 'cgroup.procs')],
        prefix: [],
        usage: () => usageOfGroup2(group),
        remove,
      };
    },
  };
}

async function usageOfGroup2(group: string): Promise<Usage> {
  const peak = path.join(group, 'memory.peak');
  return {
    memoryBytes: await numberIn(peak).catch(() => numberIn(path.join(group, 'memory.current'))),
    oomKills: await fieldIn(path.join(group, 'memory.events'), 'oom_kill'),
  };
}

/** A scope of systemd, of the system or of the user whose session we run in. */
/** @param runtimeDir - XDG_RUNTIME_DIR of the user's session; undefined: root's, of the system. */
export function systemdLimiter(
  systemdRun: string,
  runtimeDir: string | undefined,
  cgroupRoot: string,
): ResourceLimiter {
  return {
    kind: 'systemd',
    // A scope ends with its last process.
    sweep: () => Promise.resolve(0),
    open: (name, { memoryBytes, processes, cpus }) =>
      Promise.resolve({
        entrances: [],
        prefix: [
          ...(runtimeDir === undefined ? [] : ['/usr/bin/env', `XDG_RUNTIME_DIR=${runtimeDir}`]),
          systemdRun,
          ...(runtimeDir === undefined ? [] : ['--user']),
          '--quiet',
          '--scope',
          '--collect',
          `--unit=platform-${name}`,
          `--property=MemoryMax=${memoryBytes}`,
          '--property=MemorySwapMax=0',
          `--property=TasksMax=${processes}`,
          `--property=CPUQuota=${Math.round(cpus * 100)}%`,
          '--',
          // It is for systemd alone, not for what runs in the scope.
          ...(runtimeDir === undefined ? [] : ['/usr/bin/env', '-u', 'XDG_RUNTIME_DIR']),
        ],
        // The scope ends with its last process: it is asked as long as it is there.
        usage: async (pid) => {
          const own = /^0::(\/.*)$/m.exec(await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''))?.[1];
          if (own === undefined || !own.includes(`platform-${name}`)) return undefined;
          return usageOfGroup2(path.join(cgroupRoot, own)).catch(() => undefined);
        },
        remove: () => Promise.resolve(),
      }),
  };
}
