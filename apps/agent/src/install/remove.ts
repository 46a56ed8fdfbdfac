import type { Programs } from '../os/ports.ts';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { runFolder } from '@platform/kit/node';
import { errorText } from '@platform/kit';
import { agentUnit, serverUnit } from './unit.ts';
import { readChanges } from './changes.ts';
import { managedFilesOnDisk } from '../os/managed-files-on-disk.ts';
import { journaldFile } from '../system/journald.ts';
import { restorePathState } from '../os/path-state.ts';
import { spoolFolder } from '../logs/spool-segments.ts';
import type { HandedOver } from '../network/profiles/hand-over.ts';
import { sampleFolder } from '../samples/sample-spool.ts';

/** Everything that agent and server create below the root. */
export const ours: readonly string[] = [
  'bin',
  'cache',
  'etc',
  'lib',
  'log',
  sampleFolder,
  'server',
  spoolFolder,
  'state',
  'versions',
];

export interface Removal {
  root: string;
  /** Removed with its `.old` copy; undefined: it stays. */
  credentialsFile: string | undefined;
  usesSystemd: boolean;
  /** Goes before the paths of the operating system; left out: this system itself. */
  prefix?: string;
  /** Reports the removal after everything has stopped; true: the server received it. */
  sayGoodbye: () => Promise<boolean>;
  /** Gives up the network profiles and files of the agent; undefined: it managed none. */
  handOverNetworks?: (() => Promise<HandedOver>) | undefined;
  /** Packages that the agent has installed and that still are. */
  packages?: () => Promise<readonly string[]>;
  /** Settles what these packages left beside the files of the agent, once those are restored. */
  settlePackages?: () => Promise<readonly string[]>;
}

export interface Removed {
  /** The completed actions, a sentence each. */
  done: string[];
  /** What could not be removed, and why. */
  left: string[];
  /** Networks that belong to the operating system now. */
  leftNetworks: readonly string[];
  /** Packages that the agent has installed: they stay. */
  leftPackages: readonly string[];
  /** The management server has received the removal. */
  isServerNotified: boolean;
}

/** Stops and removes everything that `install` created. It continues after a failure and returns all of them. */
export async function removeAll(of: Removal, system: Programs): Promise<Removed> {
  const { root, credentialsFile } = of;
  const result: Removed = { done: [], left: [], leftNetworks: [], leftPackages: [], isServerNotified: false };
  const attempt = async (done: string, work: () => Promise<boolean>): Promise<void> => {
    try {
      if (await work()) result.done.push(done);
    } catch (error) {
      result.left.push(`not ${done}: ${errorText(error)}`);
    }
  };
  const changes = await readChanges(root);
  if (of.usesSystemd) {
    const systemctl = async (...args: string[]) => (await system.run('systemctl', ...args)).code === 0;
    await attempt('stopped platform-agent', () => systemctl('disable', '--now', agentUnit));
    await attempt('stopped the machine server', async () => {
      if (!(await systemctl('is-active', '--quiet', serverUnit))) return false;
      return systemctl('stop', serverUnit);
    });
  }
  result.isServerNotified = await of.sayGoodbye();
  if (result.isServerNotified) result.done.push('notified the management server');
  for (const change of (changes?.paths ?? []).toReversed()) {
    await attempt(`${change.before.kind === 'none' ? 'removed' : 'restored'} ${change.path}`, async () => {
      await restorePathState(change.path, change.before);
      return true;
    });
  }
  if (of.handOverNetworks) await handOverNetworks(of.handOverNetworks, result, system);
  await attempt('read which packages were installed', async () => {
    result.leftPackages = (await of.packages?.()) ?? [];
    return false;
  });
  const restored = await restoreManagedFiles(root, result, attempt);
  await attempt('settled the files of packages', async () => ((await of.settlePackages?.()) ?? []).length > 0);
  if (of.usesSystemd && restored.includes(`${of.prefix ?? ''}${journaldFile}`))
    await system.run('systemctl', 'restart', 'systemd-journald');
  if (of.usesSystemd) {
    await system.run('systemctl', 'daemon-reload');
    await system.run('systemctl', 'reset-failed', agentUnit, serverUnit);
  }
  for (const file of credentialsFile === undefined ? [] : [credentialsFile, `${credentialsFile}.old`]) {
    await attempt(`removed ${file}`, () => removed(file));
  }
  if (of.usesSystemd) await attempt(`removed ${runFolder}`, () => removed(runFolder));
  // Last: it contains the list of what else to restore.
  for (const name of ours) await attempt(`removed ${path.join(root, name)}`, () => removed(path.join(root, name)));
  const rest = await readdir(root).catch(() => []);
  if (rest.length > 0) result.left.push(`${root} holds what is none of platform-agent: ${rest.slice(0, 5).join(', ')}`);
  else await attempt(`removed ${root}`, () => rmdir(root).then(() => true, isGone));
  return result;
}

type Attempt = (done: string, work: () => Promise<boolean>) => Promise<void>;

/** @returns the restored files */
async function restoreManagedFiles(root: string, { left }: Removed, attempt: Attempt): Promise<readonly string[]> {
  const restored: string[] = [];
  const managed = managedFilesOnDisk(root);
  let files: readonly string[] = [];
  await attempt('read which files were changed', async () => {
    files = await managed.written();
    return false;
  });
  for (const file of files) {
    await attempt(`restored ${file}`, async () => {
      const outcome = await managed.restore(file);
      if (outcome === 'foreign') left.push(staysAsChanged(file));
      if (outcome === 'restored') restored.push(file);
      return outcome === 'restored';
    });
  }
  return restored;
}

async function handOverNetworks(handOver: () => Promise<HandedOver>, result: Removed, system: Programs): Promise<void> {
  try {
    const { left, removed: gone, files } = await handOver();
    result.leftNetworks = left;
    result.done.push(...gone.map((name) => `removed the network ${name}`));
    for (const { file, isRestored } of files) {
      if (isRestored) result.done.push(`restored ${file}`);
      else result.left.push(staysAsChanged(file));
    }
    await system.run('sync'); // NetworkManager does not flush its files
  } catch (error) {
    result.left.push(`the networks could not be handed over to the operating system: ${errorText(error)}`);
  }
}

const staysAsChanged = (file: string): string => `${file} stays: it was changed after platform-agent wrote it`;

async function removed(file: string): Promise<boolean> {
  if (!(await lstat(file).catch(() => undefined))) return false;
  await rm(file, { recursive: true, force: true });
  return true;
}

function isGone(error: unknown): boolean {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
  throw error;
}
