import { lstat, open, readdir, readFile, readlink, realpath, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Log, Clock } from '@platform/kit';
import { controlOf } from '../control/client.ts';
import { chunksOf } from '../os/file-disk.ts';
import { readFileSystem } from '../os/mounts.ts';
import { thisHost } from '../os/host.ts';
import { idOf } from '../state/state.ts';
import { agentUnit } from './unit.ts';
import { Inspector, refusalOf } from '../versions/inspect.ts';
import { programStore } from '../versions/program-store.ts';
import { findCredentials } from './fetch-credentials.ts';
import type { Candidate, Exposed, Facts, FoundFile, OtherAgent } from './facts.ts';
import type { System } from '../os/ports.ts';

/** Agents and servers of another product that would compete for the machine. */
const otherUnits = ['viam-agent.service', 'viam-server.service'];

export interface Places {
  root: string;
  credentialsFile: string;
  /** All files that an installation may write. */
  files: readonly string[];
  unitFile: string;
  /** Where units are searched. */
  unitFolders: readonly string[];
  binary: string;
}

/** Inspects the machine and changes nothing. */
export async function lookAround(
  places: Places,
  { system, clock, log }: { system: System; clock: Clock; log: Log },
): Promise<Facts> {
  const { platform } = thisHost();
  const files = new Map<string, FoundFile>();
  for (const file of places.files) {
    const found = await fileAt(file);
    if (found) files.set(file, found);
  }
  const credentials = files.get(places.credentialsFile);
  const store = programStore(system.files(places.root), 'agent', { clock, log });
  const isSystemdRunning = await stat('/run/systemd/system').then(
    () => true,
    () => false,
  );
  const candidate = await candidateOf(places.binary, platform, system);
  const systemctl = async (...args: string[]) => (await system.run('systemctl', ...args)).text.split('\n')[0] ?? '';
  return {
    isRoot: process.getuid?.() === 0,
    platform,
    userlandBits: await wordSize(['/sbin/init', '/bin/sh', '/bin/busybox']),
    isSystemdRunning,
    freeBytes: await freeBytesOf(places.root),
    noexecAt: await noexecAt(places.root),
    exposed: await exposedIn([places.root, places.credentialsFile]),
    others: await othersIn(places, async (unit) => (await systemctl('is-active', unit)) === 'active'),
    candidate,
    stored: (await store.list()).map(({ id }) => id),
    quarantine: (await store.bad()).findLast(({ id }) => id === candidate.id)?.reason,
    strayPid: await strayPid(places.root, clock),
    installed: await store.linked(),
    credentials: credentials?.is === 'file' ? await findCredentials(places.credentialsFile) : { at: 'none' },
    files,
    unit: {
      isActive:
        isSystemdRunning && ['active', 'activating', 'reloading'].includes(await systemctl('is-active', agentUnit)),
      isEnabled: files.has(places.unitFile) && (await systemctl('is-enabled', agentUnit)) === 'enabled',
      needsReload: isSystemdRunning && (await systemctl('show', '-P', 'NeedDaemonReload', agentUnit)) === 'yes',
    },
  };
}

async function exposedIn(paths: readonly string[]): Promise<Exposed[]> {
  const all = (await Promise.all(paths.map(exposedOf))).flat();
  return all.filter(({ path: one }, i) => all.findIndex((other) => other.path === one) === i);
}

async function strayPid(root: string, clock: Clock): Promise<number | undefined> {
  const { agent } =
    (await controlOf(root, clock)
      .status()
      .catch(() => undefined)) ?? {};
  return agent && !agent.is_supervised_by_systemd ? (agent.pid ?? undefined) : undefined;
}

async function fileAt(file: string): Promise<FoundFile | undefined> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSymbolicLink()) return { is: 'link', target: await readlink(file) };
  if (!found?.isFile()) return undefined;
  return { is: 'file', text: await readFile(file, 'utf8'), mode: found.mode };
}

/** The mount point of the file system that holds the folder, or will hold it, if it is mounted noexec. */
export async function noexecAt(folder: string): Promise<string | undefined> {
  const found = await readFileSystem(folder);
  return found?.isNoExec === true ? found.mountPoint : undefined;
}

/** Free space of the disk that holds the folder, or will hold it. */
export async function freeBytesOf(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if (path.dirname(folder) === folder) throw error;
    return freeBytesOf(path.dirname(folder));
  }
}

export async function candidateOf(
  file: string,
  platform: string,
  { files }: Pick<System, 'files'>,
): Promise<Candidate> {
  const folder = path.dirname(file);
  const inspector = new Inspector();
  for await (const chunk of chunksOf(files(folder), path.basename(file))) inspector.update(chunk);
  const found = inspector.finish();
  const version = found.note?.version ?? '';
  const { sha256, sizeBytes } = found;
  return { file, id: idOf(version, sha256), version, sha256, sizeBytes, refusal: refusalOf(found, 'agent', platform) };
}

async function othersIn(
  { root, unitFile, unitFolders }: Places,
  isActive: (unit: string) => Promise<boolean>,
): Promise<OtherAgent[]> {
  const others: OtherAgent[] = [];
  for (const folder of unitFolders) {
    for (const unit of await readdir(folder).catch(() => [])) {
      const file = path.join(folder, unit);
      if (otherUnits.includes(unit)) others.push({ unit, file, isActive: await isActive(unit) });
      if (unit !== agentUnit) continue;
      const text = await readFile(file, 'utf8').catch(() => '');
      // A unit of this name in another folder overrides ours, or is overridden by it.
      const isOurs = file === unitFile && text.includes(`${root}/bin/platform-agent`);
      if (!isOurs) others.push({ unit, file, isActive: await isActive(unit) });
    }
  }
  return others;
}

/** Word size of a program of this machine; undefined: none of these exists as an ELF file. */
async function wordSize(files: readonly string[]): Promise<32 | 64 | undefined> {
  for (const file of files) {
    try {
      await using handle = await open(await realpath(file), 'r');
      const { buffer } = await handle.read(Buffer.alloc(5), 0, 5, 0);
      if (buffer.toString('latin1', 0, 4) === '\x7fELF') return buffer[4] === 1 ? 32 : 64;
    } catch {
      continue; // any of them will do
    }
  }
  return undefined;
}

const [writableByOthers, writableByGroup] = [0o002, 0o020];
const sticky = 0o1000;

/**
 * Finds which of this path and its parents other users than root and the current one can change. In a sticky folder
 * such as /tmp, users cannot replace the files of others.
 */
export async function exposedOf(target: string): Promise<Exposed[]> {
  const found: Exposed[] = [];
  let at = await realpath(target).catch(() => target); // root will create what does not exist yet
  for (;;) {
    const entry = await stat(at).catch(() => undefined);
    const isOurs = entry?.uid === 0 || entry?.uid === process.getuid?.();
    const others = entry?.gid === 0 ? writableByOthers : writableByOthers | writableByGroup;
    const isOpen = entry && (entry.mode & others) !== 0 && !(entry.isDirectory() && entry.mode & sticky);
    if (entry && (!isOurs || isOpen)) {
      found.push({ path: at, because: `owner ${entry.uid}, mode ${(entry.mode & 0o7777).toString(8)}` });
    }
    const parent = path.dirname(at);
    if (parent === at) return found;
    at = parent;
  }
}
