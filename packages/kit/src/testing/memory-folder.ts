import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { type TempFolder, tempFolder } from './temp-folder.ts';

const memory = '/dev/shm';
const tmpfsType = 0x01021994;
const leastBytes = 2 * 2 ** 30;
const named = /^platform-(\d+)-/;

async function hasRoom(): Promise<boolean> {
  const fileSystem = await statfs(memory).catch(() => undefined);
  if (fileSystem?.type !== tmpfsType || fileSystem.bavail * fileSystem.bsize < leastBytes) return false;
  const mounts = await readFile('/proc/mounts', 'utf8');
  // Programs that the user of a database cannot reach are copied beside its files.
  return mounts.split('\n').some((line) => line.split(' ')[1] === memory && !line.includes('noexec'));
}

/** The folders in which processes run. */
async function runningIn(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
}

/** Removes what killed tests left, unless a database still runs in it. */
async function removeLeft(): Promise<void> {
  const left = (await readdir(memory)).filter((name) => {
    const pid = named.exec(name)?.[1];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  });
  if (left.length === 0) return;
  const running = await runningIn();
  for (const name of left) {
    const folder = path.join(memory, name);
    // Those of another user stay.
    if (!running.some((one) => one.startsWith(`${folder}/`)))
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** As `tempFolder`, in memory where that has room: the files of a new database cost a disk ten times the processor. */
export async function memoryFolder(): Promise<TempFolder> {
  if (!(await hasRoom())) return tempFolder();
  await removeLeft();
  return tempFolder(path.join(memory, `platform-${process.pid}-`));
}
