import type { Programs } from '../os/ports.ts';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { runFolder } from '@platform/kit/node';
import { errorText } from '@platform/kit';
import { agentUnit, serverUnit } from './unit.ts';
import { readChanges } from './changes.ts';
import { managedFilesOnDisk } from '../os/managed-files-on-disk.ts';
import { restorePathState } from '../os/path-state.ts';

/** Everything that agent and server create below the root. */
export const ours: readonly string[] = ['bin', 'cache', 'etc', 'lib', 'log', 'server', 'spool', 'state', 'versions'];

export interface Removal {
  root: string;
  /** Removed with its `.old` copy; undefined: it stays. */
  credentialsFile: string | undefined;
  usesSystemd: boolean;
  /** Reports the removal after everything has stopped; true: the server received it. */
  sayGoodbye: () => Promise<boolean>;
}

export interface Removed {
  /** The completed actions, a sentence each. */
  done: string[];
  /** What could not be removed, and why. */
  left: string[];
  /** The management server has received the removal. */
  isServerNotified: boolean;
}

/** Stops and removes everything that `install` created. It continues after a failure and returns all of them. */
export async function removeAll(of: Removal, system: Programs): Promise<Removed> {
  const { root, credentialsFile } = of;
  const result: Removed = { done: [], left: [], isServerNotified: false };
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
  await restoreManagedFiles(root, result, attempt);
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

async function restoreManagedFiles(root: string, { left }: Removed, attempt: Attempt): Promise<void> {
  const managed = managedFilesOnDisk(root);
  for (const file of await managed.written()) {
    await attempt(`restored ${file}`, async () => {
      const outcome = await managed.restore(file);
      if (outcome === 'foreign') left.push(`${file} stays: it was changed after platform-agent wrote it`);
      return outcome === 'restored';
    });
  }
}

async function removed(file: string): Promise<boolean> {
  if (!(await lstat(file).catch(() => undefined))) return false;
  await rm(file, { recursive: true, force: true });
  return true;
}

function isGone(error: unknown): boolean {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
  throw error;
}
