/** Limits memory, processes and CPU time of all processes of one sandbox together. */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
}
export interface Usage {
  readonly memoryBytes: number;
  /** Processes that the kernel killed because the memory limit was reached. */
  readonly oomKills: number;
}
/** The resource group of one sandbox. */
export interface ResourceGroup {
  /** Files to which a process writes its own PID to enter the group, before it starts children. */
  readonly entrances: readonly string[];
  /** Arguments to put before the command. */
  readonly prefix: readonly string[];
  /** Undefined if only each process is limited: then the caller must count. */
  usage(pid: number): Promise<Usage | undefined>;
  remove(): Promise<void>;
}
/** Creates resource groups of one kind. */
export interface ResourceLimiter {
  readonly kind: 'systemd' | 'cgroup2' | 'cgroup1' | 'prlimit';
  /** `name`: letters, digits and hyphens; unique on this host. Throws errors of the file system. */
  open(name: string, limits: ResourceLimits): Promise<ResourceGroup>;
  /** Ends and removes leftover sandboxes whose name starts with `prefix`. @returns their number. */
  sweep(prefix: string): Promise<number>;
}

/** Limits each process alone: the fallback where the system delegates no group. */
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

/** A group stays busy for a moment after its processes were killed. */
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
      // the process has already exited
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

/** cgroup v1: one hierarchy per controller. `folders`: the runner's own group in each. */
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
        // Limits memory plus swap; the file exists only with swap accounting.
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

/** cgroup v2. `folder`: a delegated group that passes its controllers to its children. */
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
        // The CPU controller may not be delegated.
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

/**
 * Creates a systemd scope, of the system or of the user's session.
 *
 * @param runtimeDir - XDG_RUNTIME_DIR of the user's session; undefined: use root's system instance.
 */
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
          // Only systemd-run needs the variable, not the command in the scope.
          ...(runtimeDir === undefined ? [] : ['/usr/bin/env', '-u', 'XDG_RUNTIME_DIR']),
        ],
        // The scope ends with its last process, so usage is available only until then.
        usage: async (pid) => {
          const own = /^0::(\/.*)$/m.exec(await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''))?.[1];
          if (own === undefined || !own.includes(`platform-${name}`)) return undefined;
          return usageOfGroup2(path.join(cgroupRoot, own)).catch(() => undefined);
        },
        remove: () => Promise.resolve(),
      }),
  };
}
