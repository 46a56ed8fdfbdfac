import { mkdir, open, readFile, readdir, readlink, rename, rm, stat, symlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { headerText, olderOf, type DroppedOutput, type OutputHeader } from '../../os/output-marks.ts';

export interface RollingLimits {
  /** Limit for all files of this name together; the oldest is removed first. */
  totalBytes: number;
  segmentBytes: number;
  /** Limit for what waits in memory for the disk. */
  queueBytes: number;
}

export interface RollingParts {
  file: string;
  /** The folder for files while the disk is full; undefined: there is none. */
  spareFolder: string | undefined;
  limits: RollingLimits;
  newId: () => string;
  taken?: () => Readonly<Record<string, number>>;
  /** Called when there is data that a power cut would lose; not again before `flush`. */
  unflushed?: () => void;
  /** Called with written lines that are lost. */
  lost: (lines: number, because: DroppedOutput['because']) => void;
}

interface Entry {
  bytes: Buffer;
  lines: number;
  done: (isStored: boolean) => void;
}

const digits = 8;
const newLine = 0x0a;

/**
 * A log file of bounded size with one writer: the newest lines are in `file`, older ones in `file.00000001` and so on.
 * Each file has whole lines. A write never blocks: what the disk cannot accept in time is dropped and counted.
 */
export class RollingFile {
  readonly #parts: RollingParts;
  #queue: Entry[] = [];
  #queuedBytes = 0;
  #work: Promise<void> | undefined;
  #isUnflushed = false;
  #isFlushWanted = false;
  #open: { handle: FileHandle; bytes: number; lines: number } | undefined;
  /** Line counts of this run's older files, by path. */
  readonly #lines = new Map<string, number>();

  constructor(parts: RollingParts) {
    this.#parts = parts;
  }

  /** `done` receives whether the lines are in the file; from then on they survive a crash of any process. */
  write(bytes: Buffer, lines: number, done: (isStored: boolean) => void = () => {}): void {
    const { limits, lost } = this.#parts;
    if (this.#queuedBytes + bytes.length > limits.queueBytes) {
      lost(lines, 'the disk takes nothing');
      return done(false);
    }
    this.#queue.push({ bytes, lines, done });
    this.#queuedBytes += bytes.length;
    this.#work ??= this.#drain();
  }

  /** Resolves when the queue is empty. */
  async settled(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Requests a flush of everything written so far. */
  flush(): void {
    this.#isFlushWanted = true;
    this.#work ??= this.#drain();
  }

  async close(): Promise<void> {
    await this.settled();
    await this.#flush();
    await this.#open?.handle.close();
    this.#open = undefined;
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // writes of one turn become one batch
    while (this.#queue.length > 0 || this.#isFlushWanted) {
      if (this.#isFlushWanted) {
        this.#isFlushWanted = false;
        await this.#flush();
        continue;
      }
      const batch = this.#queue.splice(0);
      const bytes = Buffer.concat(batch.map((entry) => entry.bytes));
      const lines = batch.reduce((sum, entry) => sum + entry.lines, 0);
      const isStored = (await this.#store(bytes, lines, false)) || (await this.#store(bytes, lines, true));
      this.#queuedBytes -= bytes.length;
      if (!isStored) this.#parts.lost(lines, 'the disk takes nothing');
      for (const { done } of batch) done(isStored);
    }
    this.#work = undefined;
  }

  /** @param isSpare - the disk has just rejected the lines: use the spare folder. */
  async #store(bytes: Buffer, lines: number, isSpare: boolean): Promise<boolean> {
    try {
      if (isSpare && this.#open) await this.#roll();
      const now = (this.#open ??= await this.#begin(isSpare));
      try {
        await now.handle.writeFile(bytes);
      } catch (error) {
        await now.handle.truncate(now.bytes).catch(() => {}); // keep whole lines only
        throw error;
      }
      now.bytes += bytes.length;
      now.lines += lines;
      if (!this.#isUnflushed) {
        this.#isUnflushed = true;
        this.#parts.unflushed?.();
      }
      if (now.bytes >= this.#parts.limits.segmentBytes) await this.#roll();
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Puts the file of an earlier relay aside and begins one with an ID of its own. A file that is continued could be
   * continued twice: from a copy of its folder, or after the folder was put back. A reader's position would then skip
   * lines of the other continuation.
   */
  async #begin(isSpare: boolean): Promise<{ handle: FileHandle; bytes: number; lines: number }> {
    const { file, spareFolder } = this.#parts;
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 }).catch(() => {});
    const found = await readFile(file).catch(() => undefined);
    if (found !== undefined) await this.#putAside(linesIn(found));
    else await rm(file, { force: true }); // a dangling link to a file that was in memory before a boot
    const header: OutputHeader = {
      platform_output: 1,
      segment: this.#parts.newId(),
      ...(this.#parts.taken && { taken: this.#parts.taken() }),
    };
    if (!isSpare || spareFolder === undefined) return this.#made(file, header);
    await mkdir(spareFolder, { recursive: true, mode: 0o700 });
    // ext4 stores a link target of up to 59 bytes in the inode; a longer one needs a block of the full disk.
    const spare = path.join(spareFolder, header.segment.slice(-12));
    const made = await this.#made(spare, header);
    await symlink(spare, file);
    return made;
  }

  async #made(file: string, header: OutputHeader): Promise<{ handle: FileHandle; bytes: number; lines: number }> {
    const handle = await open(file, 'ax', 0o640);
    try {
      const text = headerText(header);
      await handle.writeFile(text);
      return { handle, bytes: Buffer.byteLength(text), lines: 0 };
    } catch (error) {
      await handle.close();
      await rm(file, { force: true });
      throw error;
    }
  }

  async #flush(): Promise<void> {
    if (!this.#isUnflushed) return;
    this.#isUnflushed = false;
    await this.#open?.handle.datasync().catch(() => {}); // the next write detects a failing disk
  }

  async #roll(): Promise<void> {
    const lines = this.#open?.lines ?? 0;
    await this.#flush();
    await this.#open?.handle.close();
    this.#open = undefined;
    await this.#putAside(lines);
    await this.#bound();
  }

  async #putAside(lines: number): Promise<void> {
    const { file } = this.#parts;
    const last = (await this.#older()).map(({ number }) => number).reduce((a, b) => Math.max(a, b), 0);
    const to = `${file}.${String(last + 1).padStart(digits, '0')}`;
    await rename(file, to);
    this.#lines.set(to, lines);
  }

  /** Removes the oldest files beyond the limit; those that the agent has read first. */
  async #bound(): Promise<void> {
    const { limits, lost } = this.#parts;
    const older = (await this.#older()).toSorted((a, b) => Number(b.isRead) - Number(a.isRead) || a.number - b.number);
    const sizes: number[] = [];
    // Sequential: a hung disk must not occupy the threads that read the pipes.
    for (const { file } of older)
      sizes.push(
        await stat(file).then(
          ({ size }) => size,
          () => 0,
        ),
      );
    let total = sizes.reduce((sum, size) => sum + size, limits.segmentBytes);
    for (const [i, { file, isRead }] of older.entries()) {
      if (total <= limits.totalBytes) return;
      const lines = this.#lines.get(file) ?? (await readFile(file).then(linesIn, () => 0));
      await removeLinked(file);
      this.#lines.delete(file);
      total -= sizes[i] ?? 0;
      if (!isRead) lost(lines, 'no room');
    }
  }

  async #older(): Promise<{ file: string; number: number; isRead: boolean }[]> {
    const { file } = this.#parts;
    return olderOf(path.basename(file), await readdir(path.dirname(file)).catch(() => [])).map((found) => ({
      ...found,
      file: path.join(path.dirname(file), found.name),
    }));
  }
}

function linesIn(bytes: Uint8Array): number {
  let lines = 0;
  for (let i = bytes.indexOf(newLine); i >= 0; i = bytes.indexOf(newLine, i + 1)) lines++;
  return Math.max(0, lines - (bytes[0] === 0x1e ? 1 : 0));
}

/** Removes a file and, if it is a link, its target. */
async function removeLinked(file: string): Promise<void> {
  const target = await readlink(file).catch(() => undefined);
  await rm(file, { force: true });
  if (target !== undefined) await rm(target, { force: true });
}
