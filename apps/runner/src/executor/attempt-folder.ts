/**
 * Work folder of an attempt on a cluster node. Its name identifies the process, so folders of killed ones are removed.
 */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isAlive, processStartTime } from '@platform/kit/node';

const host = os.hostname().replaceAll(/[^A-Za-z0-9.]/g, '');
const beginning = 'platform-attempt';

/** Creates a private folder inside `base`; removes folders that dead attempts left on this host. */
export async function makeAttemptFolder(base: string): Promise<string> {
  await mkdir(base, { recursive: true });
  for (const name of await readdir(base)) {
    const [, of, pid, startTime] = /^platform-attempt_([^_]+)_(\d+)_([0-9a-f-]+\.\d+)_/.exec(name) ?? [];
    if (of !== host || startTime === undefined) continue;
    if (isAlive({ pid: Number(pid), startTime: startTime.replace('.', '/') })) continue;
    // Folders of other users cannot be removed and stay.
    await rm(path.join(base, name), { recursive: true, force: true }).catch(() => {});
  }
  // <boot>/<ticks>: after a reboot no earlier process matches.
  const startTime = (processStartTime(process.pid) ?? '').replace('/', '.');
  const own = [beginning, host, process.pid, startTime, ''].join('_');
  return mkdtemp(path.join(base, own));
}
