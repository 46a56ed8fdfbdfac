import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Sink } from '@platform/kit';
import { formatLine } from '@platform/kit/node';

const limitBytes = 10 * 2 ** 20;
const kept = 3;

/** A log file for programs that have no journal: three of 10 MiB. */
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
      // A full disk: whoever has something to say must not end for it.
    }
  };

  /** For a child to append to. A file that has grown too large is put aside first; what runs goes on writing to that one. */
  forChild(): number {
    if (this.#open !== undefined) closeSync(this.#open);
    this.#open = undefined;
    try {
      if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > limitBytes) this.#putAside();
    } catch {
      // Somebody reads one of them: Windows renames none that is open. It grows until the next time.
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
