import { levels, type LogLine } from '@platform/kit';
import type { UnsureTime } from '../clock/device-time.ts';
import type { Losses } from './losses.ts';
import type { Cursor } from './spool-record.ts';

export interface Pending {
  /** Undefined: only the cursor moves. */
  line?: LogLine;
  cursor?: Cursor;
  unsure?: UnsureTime;
  bytes: number;
  /** The disk has rejected it once. */
  isTried?: boolean;
  stored: () => void;
}

const writeBytes = 256 * 2 ** 10;

/** Lines that wait in memory until the spool stores them; beyond the limits, the least important are dropped. */
export class PendingLines {
  readonly #limits: { pendingLines: number; pendingBytes: number };
  readonly #losses: Losses;
  #entries: Pending[] = [];
  #bytes = 0;

  constructor(limits: { pendingLines: number; pendingBytes: number }, losses: Losses) {
    this.#limits = limits;
    this.#losses = losses;
  }

  get entries(): readonly Pending[] {
    return this.#entries;
  }

  /** How many writes store all of them. */
  get writes(): number {
    return Math.ceil(this.#bytes / writeBytes) + 1;
  }

  /** @param stored - called when it is stored or dropped. */
  add(entry: Omit<Pending, 'stored' | 'bytes'>, stored: () => void): void {
    const bytes = entry.line ? sizeOf(entry.line) : 0;
    this.#entries.push({ ...entry, bytes, stored });
    this.#bytes += bytes;
    const { pendingLines, pendingBytes } = this.#limits;
    while (this.#entries.length > pendingLines || this.#bytes > pendingBytes) this.#drop();
  }

  /** What the next write stores: the oldest, at least one. */
  batch(): Pending[] {
    let bytes = 0;
    const batch = this.#entries.filter((p) => (bytes += p.bytes) <= writeBytes);
    return batch.length === 0 ? this.#entries.slice(0, 1) : batch;
  }

  forget(gone: readonly Pending[]): void {
    const all = new Set(gone);
    this.#entries = this.#entries.filter((p) => !all.has(p));
    for (const { bytes } of gone) this.#bytes -= bytes;
  }

  /** Releases all waiters. */
  giveUp(): void {
    for (const { stored } of this.#entries.splice(0)) stored();
    this.#bytes = 0;
  }

  #drop(): void {
    const wordy = levels
      .map((level) => this.#entries.find((p) => p.line?.level === level))
      .find((p) => p !== undefined);
    const gone = wordy ?? this.#entries[0];
    if (!gone) return;
    this.forget([gone]);
    if (gone.line) this.#losses.addLine('the disk takes nothing', gone.line);
    gone.stored();
  }
}

/** The approximate size on disk and on the wire. */
export const sizeOf = ({ message, fields, caller, stack }: LogLine): number =>
  message.length +
  120 +
  (stack?.length ?? 0) +
  (caller ? JSON.stringify(caller).length : 0) +
  Object.values(fields).reduce<number>((sum, v) => sum + (typeof v === 'string' ? v.length : 16), 0);
