/** Where an attempt works on a computer of a cluster. Its name says whose it is, so that what was killed is swept up. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isAlive, processStartTime } from '@platform/kit/node';

const host = os.hostname().replaceAll(/[^A-Za-z0-9.]/g, '');
const beginning = 'platform-attempt';

/** A folder of its own inside of `base`, for its owner alone; folders of dead attempts of this computer are removed. */
export async function makeAttemptFolder(base: string): Promise<string> {
  await mkdir(base, { recursive: true });
  for (const name of await readdir(base)) {
    const [, of, pid, startTime] = /^platform-attempt_([^_]+)_(\d+)_([0-9a-f-]+\.\d+)_/.exec(name) ?? [];
    if (of !== host || startTime === undefined) continue;
    if (isAlive({ pid: Number(pid), startTime: startTime.replace('.', '/') })) continue;
    // That of another user stays.
    await rm(path.join(base, name), { recursive: true, force: true }).catch(() => {});
  }
  // <boot>/<ticks>: after a restart of the computer nothing of before lives.
  const startTime = (processStartTime(process.pid) ?? '').replace('/', '.');
  const own = [beginning, host, process.pid, startTime, ''].join('_');
  return mkdtemp(path.join(base, own));
}
