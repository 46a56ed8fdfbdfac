import { logLimits } from '@platform/contract/logs/limits';
import type { Clock } from '@platform/kit';
import { droppedText, type DroppedOutput } from '../../os/output-marks.ts';
import { Budget } from './budget.ts';
import type { RollingFile } from './rolling-file.ts';

const newLine = 0x0a;
/** Minimum time between marks for dropped lines. */
const markMs = 5_000;
/** The last output is kept even if it exceeds the budget: it may explain why the program exited. */
const tailBytes = 4096;
/** Room for the mark at the end of a truncated line. */
const markBytes = 64;
const nothing: Buffer = Buffer.alloc(0);

/** Counts dropped lines and writes a mark for them into the file, periodically and at the end. */
export class DropMarks {
  readonly #parts: { file: RollingFile; clock: Clock };
  readonly #dropped = new Map<DroppedOutput['because'], DroppedOutput>();
  #isWaiting = false;

  constructor(parts: { file: RollingFile; clock: Clock }) {
    this.#parts = parts;
  }

  add(lines: number, because: DroppedOutput['because']): void {
    if (lines <= 0) return;
    const now = this.#parts.clock.wall();
    const known = this.#dropped.get(because) ?? { lines: 0, from: now, to: now, because };
    this.#dropped.set(because, { ...known, lines: known.lines + lines, to: now });
    if (!this.#isWaiting) void this.#later();
  }

  write(): void {
    const all = [...this.#dropped.values()];
    this.#dropped.clear();
    for (const dropped of all) {
      const text = Buffer.from(droppedText(dropped));
      this.#parts.file.write(text, 0, (isStored) => {
        if (!isStored) this.#putBack(dropped);
      });
    }
  }

  async #later(): Promise<void> {
    this.#isWaiting = true;
    await this.#parts.clock.sleep(markMs);
    this.#isWaiting = false;
    this.write();
  }

  #putBack(dropped: DroppedOutput): void {
    const known = this.#dropped.get(dropped.because);
    this.#dropped.set(dropped.because, {
      ...dropped,
      lines: dropped.lines + (known?.lines ?? 0),
      to: known?.to ?? dropped.to,
    });
    if (!this.#isWaiting) void this.#later();
  }
}

/** Reads a program's output as bytes: whole lines within the budget go into the file, the rest is counted. */
export class OutputStream {
  readonly #parts: { file: RollingFile; marks: DropMarks; clock: Clock };
  readonly #budget: Budget;
  /** An incomplete line. */
  #rest: Buffer = nothing;
  /** Bytes of that line beyond the limit. */
  #excess = 0;
  /** The last dropped lines. */
  #tail: { bytes: Buffer; lines: number } = { bytes: nothing, lines: 0 };

  constructor(parts: { file: RollingFile; marks: DropMarks; clock: Clock }) {
    this.#parts = parts;
    this.#budget = new Budget(parts.clock.now());
  }

  take(chunk: Buffer): void {
    const { file, clock } = this.#parts;
    const now = clock.now();
    const kept: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newLine); end >= 0; end = chunk.indexOf(newLine, start)) {
      const line = this.#whole(chunk.subarray(start, end));
      if (!this.#budget.takeLine(line.length, now)) {
        start = this.#drop(line, chunk, end + 1);
        break;
      }
      this.#setTail(nothing, 0);
      kept.push(line);
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    if (kept.length > 0) file.write(Buffer.concat(kept), kept.length);
  }

  /** Called when the program has exited. */
  end(): void {
    const { file, marks } = this.#parts;
    if (this.#rest.length > 0) this.take(Buffer.from('\n'));
    marks.write();
    if (this.#tail.lines > 0) file.write(this.#tail.bytes, this.#tail.lines);
    this.#tail = { bytes: nothing, lines: 0 };
  }

  /**
   * Drops this line and the rest of the chunk without splitting it: these lines are only counted. Returns where they
   * end.
   */
  #drop(line: Buffer, chunk: Buffer, from: number): number {
    const end = Math.max(from, chunk.lastIndexOf(newLine) + 1);
    const more = chunk.subarray(from, end);
    const all = more.length >= tailBytes ? more : Buffer.concat([this.#tail.bytes, line, more]);
    const cut = all.length <= tailBytes ? 0 : all.indexOf(newLine, all.length - tailBytes - 1) + 1;
    this.#setTail(Buffer.from(all.subarray(cut)), 1 + count(more));
    return end;
  }

  /** Replaces the tail. Lines that leave it are counted as dropped. */
  #setTail(bytes: Buffer, fresh: number): void {
    if (this.#tail.lines === 0 && fresh === 0) return;
    const lines = count(bytes);
    this.#parts.marks.add(this.#tail.lines + fresh - lines, 'too many at once');
    this.#tail = { bytes, lines };
  }

  /** The complete line, with its part from earlier chunks; truncated at the limit. */
  #whole(end: Buffer): Buffer {
    this.#append(end);
    const [line, excess] = [this.#rest, this.#excess];
    this.#rest = nothing;
    this.#excess = 0;
    if (excess === 0) return Buffer.concat([line, Buffer.from('\n')]);
    const cut = startOfCharacter(line, logLimits.messageBytes - markBytes);
    return Buffer.concat([line.subarray(0, cut), Buffer.from(`… (cut: ${line.length + excess} bytes)\n`)]);
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    const kept = part.subarray(0, Math.max(0, logLimits.messageBytes - this.#rest.length));
    if (kept.length > 0) this.#rest = Buffer.concat([this.#rest, kept]);
    this.#excess += part.length - kept.length;
  }
}

function count(bytes: Buffer): number {
  let lines = 0;
  for (let i = bytes.indexOf(newLine); i >= 0; i = bytes.indexOf(newLine, i + 1)) lines++;
  return lines;
}

/** The start of the UTF-8 character that contains this byte. */
function startOfCharacter(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}
