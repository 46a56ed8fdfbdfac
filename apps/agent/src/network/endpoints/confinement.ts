import { readdir, readFile, stat } from 'node:fs/promises';
import type { Log } from '@platform/kit';
import type { Programs } from '../../os/ports.ts';

/** How the process of the endpoints loses its rights before it runs. */
export interface Confinement {
  /** Programs that start the program after them with fewer rights. */
  prefix: readonly string[];
  /** For the start without `setpriv`. */
  user: { uid: number; gid: number } | undefined;
  /** Nothing else runs as this user; undefined: the process keeps the user of the agent. */
  uid: number | undefined;
}

/** systemd gives users of this range to services with DynamicUser=; no package and no administrator does. */
const dynamicUsers = { first: 61_184, last: 65_519 };
const limits = ['--nofile=512', '--nproc=256', '--fsize=0', '--core=0'];

/** Finds out what this machine can take away from a process. Without root: nothing, the process has no rights to lose. */
export async function findConfinement(
  programs: Programs,
  log: Log,
  of: 'the portal' | 'Bluetooth',
): Promise<Confinement> {
  if (process.getuid?.() !== 0) return { prefix: [], user: undefined, uid: undefined };
  const uid = await freeUser(of === 'the portal' ? 0 : 1);
  const drop = [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${uid}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
    '--inh-caps=-all',
    '--',
  ];
  // An empty network namespace: the process has the sockets that it inherits and cannot open a connection.
  const steps = { prlimit: ['prlimit', ...limits, '--'], unshare: ['unshare', '--net', '--ipc', '--uts', '--'] };
  const works = async ([program = '', ...args]: readonly string[]): Promise<boolean> =>
    (await programs.run(program, ...args, 'true')).code === 0;
  if (!(await works(drop))) {
    log.info(`setpriv of util-linux is missing: ${of} runs without root, but with fewer limits`);
    return { prefix: [], user: { uid, gid: uid }, uid };
  }
  const prefix: string[] = [];
  for (const [name, step] of Object.entries(steps)) {
    if (await works(step)) prefix.push(...step);
    else log.info(`a limit of ${of} cannot be set`, { program: name });
  }
  return { prefix: [...prefix, ...drop], user: undefined, uid };
}

/**
 * A user that no account, process or service has. Each agent and each of its processes begin at another one: two that
 * start at the same time would find the same user free, and the end of one would kill the process of the other.
 */
async function freeUser(place: 0 | 1): Promise<number> {
  const taken = new Set<number>();
  for (const file of ['/etc/passwd', '/etc/group']) {
    const text = await readFile(file, 'utf8').catch(() => '');
    for (const line of text.split('\n')) taken.add(Number(line.split(':')[2]));
  }
  for (const name of await readdir('/run/systemd/dynamic-uid').catch(() => [])) taken.add(Number(name));
  for (const { uid } of await processOwners()) taken.add(uid);
  const { first, last } = dynamicUsers;
  const count = last - first + 1;
  for (let n = 0; n < count; n++) {
    const uid = first + ((2 * process.pid + place + 2 * n) % count);
    if (!taken.has(uid)) return uid;
  }
  throw new Error(`every user ID from ${dynamicUsers.first} to ${dynamicUsers.last} is taken`);
}

async function processOwners(): Promise<{ pid: number; uid: number }[]> {
  const found: { pid: number; uid: number }[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const entry = await stat(`/proc/${name}`).catch(() => undefined); // it may have ended
    if (entry) found.push({ pid: Number(name), uid: entry.uid });
  }
  return found;
}

const mostRounds = 20;

/** Control groups of a process; empty: it has ended, or the kernel has none. */
const groupsOf = (pid: number | 'self'): Promise<string> => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');

/**
 * Kills what an attacker may have started from the process: everything of its user in the control group of this agent,
 * which a process without root cannot leave. systemd may give the same user to a service, in a group of its own.
 */
export async function endProcessesOf({ uid }: Confinement): Promise<void> {
  if (uid === undefined) return;
  const own = await groupsOf('self');
  for (let round = 0; round < mostRounds; round++) {
    const owned = (await processOwners()).filter((owner) => owner.uid === uid);
    const groups = await Promise.all(owned.map(({ pid }) => groupsOf(pid)));
    const left = owned.filter((_, n) => groups[n] === own);
    if (left.length === 0) return;
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // it has ended
      }
    }
  }
}
