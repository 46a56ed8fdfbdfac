import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Sink } from '@platform/kit';
import { formatLine } from '@platform/kit/node';

const limitBytes = 10 * 2 ** 20;
const kept = 3;

/** A rotated log file for programs without a journal: three files of 10 MiB. */
export class LogFile {
  readonly #file: string;
  #open: number | undefined;

  constructor(file: string) {
    this.#file = file;
    mkdirSync(path.dirname(file), { recursive: true });
  }

  readonly sink: Sink = (line) => {
    try {
      writeSync(this.#handle(), `${formatLine(line, 'text')}\n`);
    } catch {
      // A full disk: logging must not end the program.
    }
  };

  /**
   * A handle for a child to append to. Rotates a file that is too large first; running children keep writing to the old
   * one.
   */
  forChild(): number {
    if (this.#open !== undefined) closeSync(this.#open);
    this.#open = undefined;
    try {
      if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > limitBytes) this.#putAside();
    } catch {
      // A reader has one of the files open, and Windows cannot rename that. The file grows until the next call.
    }
    return this.#handle();
  }

  #handle(): number {
    this.#open ??= openSync(this.#file, 'a');
    return this.#open;
  }

  #putAside(): void {
    rmSync(`${this.#file}.${kept - 1}`, { force: true });
    for (let n = kept - 2; n >= 0; n--) {
      const from = n === 0 ? this.#file : `${this.#file}.${n}`;
      if (statSync(from, { throwIfNoEntry: false })) renameSync(from, `${this.#file}.${n + 1}`);
    }
  }
}
