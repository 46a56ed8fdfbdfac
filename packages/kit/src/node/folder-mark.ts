// A file that exists while a program works in a folder, and knows its own place on the disk. After a power cut it is
// still the same file; in a copy of the folder it is another one.
import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from './clock.ts';

export interface FilePlace {
  readonly device: string;
  readonly inode: string;
  /** Time of its creation in ns, which no program can set; null: the file system does not keep it. */
  readonly born: string | null;
  /** Names the boot of the operating system; null: unknown. */
  readonly bootId: string | null;
}

/**
 * Whether a marked file was copied. A copy is another file: another inode, and another time of creation. The number of
 * the device is weak evidence: it may change with a restart, by a snapshot, and when a disk is moved.
 */
export function isCopy(recorded: FilePlace, now: FilePlace): boolean {
  if (recorded.inode !== now.inode) return true;
  if (recorded.born !== null && now.born !== null) return recorded.born !== now.born;
  const isSameBoot = recorded.bootId !== null && recorded.bootId === now.bootId;
  return recorded.device !== now.device && isSameBoot;
}

const readBootId = (): Promise<string | null> =>
  readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => null,
  );

/** A file system without this time reports 0, or the time of the last change in its place. */
const placeOf = (found: BigIntStats, bootId: string | null): FilePlace => ({
  device: String(found.dev),
  inode: String(found.ino),
  born: found.birthtimeNs === 0n || found.birthtimeNs === found.ctimeNs ? null : String(found.birthtimeNs),
  bootId,
});

/** Whether the mark at this path was copied with its folder. False if there is none: the program ended in order. */
export async function isCopiedMark(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const stats = await stat(file, { bigint: true });
  let recorded: FilePlace;
  try {
    recorded = JSON.parse(text) as FilePlace;
  } catch {
    return false; // a power cut left it empty: it was just being written here
  }
  return isCopy(recorded, placeOf(stats, await readBootId()));
}

/**
 * Gives the file a time of its last change other than that of its creation: times are as exact as the kernel's tick
 * (1 to 10 ms), so a file that was written at once has the same two as one whose file system does not keep the first.
 */
async function changeLaterThanBirth(handle: FileHandle): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    const { birthtimeNs, ctimeNs } = await handle.stat({ bigint: true });
    if (birthtimeNs !== ctimeNs) return;
    await systemClock.sleep(10);
    await handle.chmod(0o600);
  }
}

/** Writes the mark, or replaces that of a program that did not end in order. */
export async function markFolder(file: string): Promise<void> {
  const temporary = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await using handle = await open(temporary, 'wx', 0o600);
    await handle.writeFile(' '.repeat(512));
    await handle.sync();
    await changeLaterThanBirth(handle);
    const place = placeOf(await handle.stat({ bigint: true }), await readBootId());
    await handle.write(JSON.stringify(place), 0);
    await handle.sync();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  if (process.platform === 'win32') return;
  await using folder = await open(path.dirname(file), 'r');
  await folder.sync();
}
