import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { isAlive, processStartTime } from './process-group.ts';

export class FolderLocked extends Error {
  /** 0: unknown. */
  readonly pid: number;
  constructor(file: string, pid: number) {
    super(
      `${file} is held by ${pid === 0 ? 'another process' : `process ${pid}`}. Stop that process, or use another folder.`,
    );
    this.name = 'FolderLocked';
    this.pid = pid;
  }
}

export interface FolderLock extends AsyncDisposable {
  /** True if the previous owner died without releasing the lock. */
  readonly takenOver: boolean;
}

/**
 * Takes the lock file for this process. Takes over a lock whose owner (PID and start time) no longer lives.
 *
 * @param spare - a file on another disk, preferably in memory; used if the disk is full or broken. Every process
 *   that locks this folder must pass the same one.
 * @throws FolderLocked while another process holds it.
 */
export async function lockFolder(file: string, { spare }: { spare?: string | undefined } = {}): Promise<FolderLock> {
  if (process.platform === 'win32') return lockByPipe(file);
  if (spare === undefined) return take(file);
  refuseIfHeld(spare, await content(spare));
  try {
    return await take(file);
  } catch (error) {
    if (error instanceof FolderLocked) throw error;
    refuseIfHeld(file, await content(file));
    return take(spare);
  }
}

function refuseIfHeld(file: string, seen: string | undefined): void {
  const owner = seen === undefined ? undefined : parse(seen);
  if (owner && isAlive(owner)) throw new FolderLocked(file, owner.pid);
}

async function take(file: string): Promise<FolderLock> {
  const mine = JSON.stringify({ pid: process.pid, startTime: processStartTime(process.pid) });
  let takenOver = false;
  for (let attempt = 0; attempt < 10; attempt++) {
    if (await create(file, mine)) {
      return {
        takenOver,
        [Symbol.asyncDispose]: async () => {
          if ((await content(file)) === mine) await rm(file, { force: true });
        },
      };
    }
    const seen = await content(file);
    if (seen === undefined) continue; // its owner released it just now
    refuseIfHeld(file, seen);
    takenOver = true;
    await removeStale(file, seen);
  }
  throw new Error(`${file} changes hands all the time; another process keeps taking it`);
}

/** Node cannot read process start times on Windows. A named pipe has one owner and disappears with it. */
async function lockByPipe(file: string): Promise<FolderLock> {
  const name = createHash('sha256').update(path.resolve(file).toLowerCase()).digest('hex').slice(0, 32);
  const server = createServer((connection) => connection.destroy());
  server.listen(String.raw`\\.\pipe\platform-` + name);
  try {
    await once(server, 'listening');
  } catch {
    throw new FolderLocked(file, 0);
  }
  server.unref();
  return { takenOver: false, [Symbol.asyncDispose]: async () => void server.close() };
}

/** A hard link makes the file appear with its content; other processes would treat an empty file as a stale lock. */
async function create(file: string, text: string): Promise<boolean> {
  const temporary = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(temporary, text, { mode: 0o600 });
    return await appears(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function appears(existing: string, file: string): Promise<boolean> {
  try {
    await link(existing, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

const content = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);

/**
 * Renames the file, then checks what it renamed: if two processes saw the same stale lock, the slower one renamed a
 * fresh one.
 */
async function removeStale(file: string, seen: string): Promise<void> {
  const aside = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(file, aside);
  } catch {
    return; // another process was faster
  }
  if ((await content(aside)) !== seen) await appears(aside, file);
  await rm(aside, { force: true });
}

function parse(text: string): { pid: number; startTime: string } | undefined {
  try {
    const value = JSON.parse(text) as { pid?: unknown; startTime?: unknown };
    return typeof value.pid === 'number' && typeof value.startTime === 'string'
      ? { pid: value.pid, startTime: value.startTime }
      : undefined;
  } catch {
    return undefined; // a power failure left it empty: no process holds it
  }
}
