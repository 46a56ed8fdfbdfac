/** Splits the output of a script into printable lines; limits their length and number. */

/** Longer lines are truncated. */
const longestLine = 16 * 1024;
/** Terminal escape sequences: colours, cursor, titles. */
const escapes = /\u001b(?:\[[0-9;?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** Control characters move the cursor or ring the bell; PostgreSQL rejects NUL in text. */
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export class LineSplitter {
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** The lines that these bytes complete. */
  add(bytes: Uint8Array): string[] {
    const parts = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = keptRest(parts.pop() ?? '');
    return parts.map(cleanLine);
  }
  /** The text after the last line break. */
  end(): string[] {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = '';
    return rest === '' ? [] : [cleanLine(rest)];
  }
}

/** Keeps only the last state of a progress bar, and only the start of an endless line. */
function keptRest(text: string): string {
  const returned = text.lastIndexOf('\r', text.length - 2);
  return (returned < 0 ? text : text.slice(returned + 1)).slice(0, longestLine + 2);
}

function cleanLine(line: string): string {
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line;
  const shown = whole.slice(whole.lastIndexOf('\r') + 1);
  const text = shown.slice(0, longestLine).replace(escapes, '').replace(unprintable, '�').toWellFormed();
  return shown.length > longestLine ? `${text}…` : text;
}

const lineBreak = 0x0a;

export interface LineLimits {
  readonly linesPerSecond: number;
  readonly bytes: number;
}
const lineLimits: LineLimits = { linesPerSecond: 10_000, bytes: 64 * 2 ** 20 };

/** Decides which lines of a job are kept, and reports how many it dropped. Instants are ms. */
export class LineCap {
  readonly #limits: LineLimits;
  #second = -Infinity;
  #inSecond = 0;
  #dropped = 0;
  #bytes = 0;
  #bytesOver = 0;

  constructor(limits: LineLimits = lineLimits) {
    this.#limits = limits;
  }

  /** True while a limit is reached: the caller skips splitting and counts the bytes with `skip`. */
  isFull(now: number): boolean {
    return this.#isSpent || (this.#inSecond > this.#limits.linesPerSecond && now - this.#second < 1000);
  }
  get #isSpent(): boolean {
    return this.#bytesOver > 0;
  }
  /** Lines to keep: this one, preceded by a remark if lines before it were dropped. */
  take(line: string, now: number): string[] {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#isSpent || this.#bytes + bytes > this.#limits.bytes) {
      this.#bytesOver += bytes;
      return [];
    }
    if (now - this.#second >= 1000) {
      this.#second = now;
      this.#inSecond = 0;
    }
    if (++this.#inSecond > this.#limits.linesPerSecond) {
      this.#dropped++;
      return [];
    }
    this.#bytes += bytes;
    return [...this.#remark(), line];
  }
  /** Counts bytes that the caller did not split. */
  skip(bytes: Uint8Array): void {
    if (this.#isSpent) {
      this.#bytesOver += bytes.length;
      return;
    }
    let lines = 0;
    // Faster than a search: lines may be one byte long.
    for (let at = 0; at < bytes.length; at++) if (bytes[at] === lineBreak) lines++;
    this.#dropped += lines;
  }
  /** Remarks to add at the end. */
  end(): string[] {
    const remarks = this.#remark();
    if (this.#bytesOver === 0) return remarks;
    const [over, limit] = [this.#bytesOver, this.#limits.bytes].map((bytes) => (bytes / 2 ** 20).toFixed(1));
    return [...remarks, `The last ${over} MiB of the output were dropped: the log of a job has at most ${limit} MiB.`];
  }
  #remark(): string[] {
    if (this.#dropped === 0) return [];
    const text = `${this.#dropped} lines were dropped here: more than ${this.#limits.linesPerSecond} in one second.`;
    this.#dropped = 0;
    return [text];
  }
}
