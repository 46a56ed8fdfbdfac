/** Finds the limiters that this host may support, the best first. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  cgroup1Limiter,
  cgroup2Limiter,
  prlimitLimiter,
  systemdLimiter,
  type ResourceLimiter,
} from './resource-group.ts';

/** The process's own group in one cgroup hierarchy. */
export interface CgroupPlace {
  readonly version: 1 | 2;
  /** Set for version 1. */
  readonly controllers: readonly string[];
  readonly folder: string;
}

/**
 * @param mountinfo - content of /proc/self/mountinfo.
 * @param cgroup - content of /proc/self/cgroup.
 */
export function cgroupPlaces(mountinfo: string, cgroup: string): CgroupPlace[] {
  const own = cgroup
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [, controllers = '', ...rest] = line.split(':');
      return { controllers: controllers.split(',').filter(Boolean), path: rest.join(':') };
    });
  return mountinfo.split('\n').flatMap((line): CgroupPlace[] => {
    const [head = '', tail = ''] = line.split(' - ');
    const [, , , root = '/', mountPoint = ''] = head.split(' ');
    const [type, , options = ''] = tail.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    const names = options.split(',');
    const mine = own.find(({ controllers }) =>
      type === 'cgroup2' ? controllers.length === 0 : controllers.some((name) => names.includes(name)),
    );
    if (!mine) return [];
    // In a container the mount starts below the root of the hierarchy.
    const below = root !== '/' && mine.path.startsWith(root) ? mine.path.slice(root.length) : mine.path;
    const folder = path.posix.resolve(mountPoint.replace(/\\040/g, ' '), `.${below}`);
    return [{ version: type === 'cgroup2' ? 2 : 1, controllers: mine.controllers, folder }];
  });
}

/** The limiters that seem possible here; the last one is always possible. The caller must try each. */
export async function possibleLimiters(systemdRun: string | undefined, isRoot: boolean): Promise<ResourceLimiter[]> {
  const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
  const places = cgroupPlaces(await read('/proc/self/mountinfo'), await read('/proc/self/cgroup'));
  const limiters: ResourceLimiter[] = [];
  const { XDG_RUNTIME_DIR: session } = process.env;
  if (systemdRun !== undefined && existsSync('/run/systemd/system') && (isRoot || session !== undefined)) {
    limiters.push(systemdLimiter(systemdRun, isRoot ? undefined : session, '/sys/fs/cgroup'));
  }
  for (const { version, folder } of places) {
    if (version === 2 && (await delegateControllers(folder))) limiters.push(cgroup2Limiter(folder));
  }
  const folderOf = (name: string): string | undefined =>
    places.find(({ version, controllers }) => version === 1 && controllers.includes(name))?.folder;
  const [memory, pids, cpu] = ['memory', 'pids', 'cpu'].map(folderOf);
  if (memory !== undefined && pids !== undefined) {
    limiters.push(cgroup1Limiter({ memory, pids, ...(cpu === undefined ? {} : { cpu }) }));
  }
  return [...limiters, prlimitLimiter];
}

/**
 * Delegates controllers to child groups. A group with own processes cannot, so the process moves into a child group.
 */
async function delegateControllers(folder: string): Promise<boolean> {
  const wanted = ['memory', 'pids', 'cpu'];
  const file = path.join(folder, 'cgroup.subtree_control');
  const has = async (): Promise<boolean> => {
    const words = (await readFile(file, 'utf8')).split(/\s+/);
    return words.includes('memory') && words.includes('pids');
  };
  const pass = async (): Promise<void> => {
    for (const name of wanted) await writeFile(file, `+${name}`).catch(() => {});
  };
  try {
    if (await has()) return true;
    const available = (await readFile(path.join(folder, 'cgroup.controllers'), 'utf8')).split(/\s+/);
    if (!available.includes('memory') || !available.includes('pids')) return false;
    await pass();
    if (await has()) return true;
    const members = (await readFile(path.join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean);
    if (members.length !== 1 || members[0] !== String(process.pid)) return false;
    await mkdir(path.join(folder, 'runner'), { recursive: true });
    await writeFile(path.join(folder, 'runner', 'cgroup.procs'), String(process.pid));
    await pass();
    return await has();
  } catch {
    return false; // read-only, or not delegated to this user
  }
}
