import { Cell, type LogLine } from '@platform/kit';
import type { Disk, Position } from '../os/ports.ts';
import {
  decodeRecords,
  decodeState,
  encodeRecord,
  encodeState,
  type SpoolRecord,
  type SpoolState,
} from './spool-record.ts';

const folder = 'spool';
const stateFile = `${folder}/state`;

interface Segment {
  readonly name: string;
  readonly first: number;
  last: number;
  bytes: number;
  debugLines: number;
}

interface Pending {
  line: LogLine;
  cursor?: Position;
  stored: () => void;
}

export interface SpoolLimits {
  /** Of all segments together; beyond it debug lines go first, then the oldest. */
  totalBytes: number;
  segmentBytes: number;
  /** Lines that wait in memory, for example while the disk is full. */
  pendingLines: number;
}
export const standardSpoolLimits: SpoolLimits = {
  totalBytes: 16 * 2 ** 20,
  segmentBytes: 64 * 2 ** 10,
  pendingLines: 5000,
};

/**
 * A durable queue of log lines: plain segment files of checksummed lines. A line has a number that is given once; with
 * the id of the spool it names the line for ever, so the cloud takes it once however often it is sent.
 *
 * Order of writes: a line is on disk before it can be sent; the state is on disk before a segment is removed, so that no
 * number is given twice. A segment is never appended to after a new start: a torn end stays an end.
 */
export class Spool {
  readonly #disk: Disk;
  readonly #limits: SpoolLimits;
  #segments: Segment[];
  #active: Segment | undefined;
  #state: SpoolState;
  #pending: Pending[] = [];
  #dropped = 0;
  #head: { segment: Segment; bytes: number; records: SpoolRecord[] } | undefined;
  #work: Promise<unknown> = Promise.resolve();
  /** Changes whenever lines wait to be stored or sent. */
  readonly activity = new Cell(0);

  private constructor(disk: Disk, limits: SpoolLimits, segments: Segment[], state: SpoolState) {
    this.#disk = disk;
    this.#limits = limits;
    this.#segments = segments;
    this.#state = state;
  }

  /** @param newId - a random id, used when there is no spool yet. */
  static async open(disk: Disk, limits: SpoolLimits, newId: () => string): Promise<Spool> {
    const segments: Segment[] = [];
    let state = decodeState(await disk.read(stateFile));
    let cursor = state?.cursor;
    let last = state?.last ?? 0;
    for (const name of (await disk.list(folder)).filter((n) => n.endsWith('.seg'))) {
      const bytes = (await disk.read(`${folder}/${name}`)) ?? new Uint8Array();
      const records = decodeRecords(bytes);
      const bootId = name.split('.')[0] ?? '';
      state ??= { bootId, acked: 0, last: 0 };
      if (records.length === 0 || bootId !== state.bootId) {
        await disk.remove(`${folder}/${name}`);
        continue;
      }
      const end = records.at(-1)!.sequence;
      segments.push({
        name,
        first: records[0]!.sequence,
        last: end,
        bytes: bytes.length,
        debugLines: records.filter((r) => r.level === 'debug').length,
      });
      last = Math.max(last, end);
      cursor = records.findLast((r) => r.cursor)?.cursor ?? cursor;
    }
    state ??= { bootId: newId(), acked: 0, last: 0 };
    const known: SpoolState = { ...state, last: Math.max(last, state.acked), ...(cursor && { cursor }) };
    return new Spool(disk, limits, segments, known);
  }

  get bootId(): string {
    return this.#state.bootId;
  }

  /** How far the followed file was read into this spool. */
  get cursor(): Position | undefined {
    return this.#state.cursor;
  }

  get isIdle(): boolean {
    return this.#pending.length === 0;
  }

  /** Resolves when the line is durable (or was dropped for want of room). */
  append(line: LogLine, cursor?: Position): Promise<void> {
    return new Promise((resolve) => {
      this.#pending.push({ line, ...(cursor && { cursor }), stored: resolve });
      if (this.#pending.length > this.#limits.pendingLines) this.#dropPending();
      this.activity.update((n) => n + 1);
    });
  }

  /** Stores what waits, in one write. @throws when the disk does not take it; the lines go on waiting. */
  flush(): Promise<void> {
    return this.#oneAtATime(() => this.#store());
  }

  /** The oldest lines that the cloud has not taken, at most `max`. */
  next(max: number): Promise<SpoolRecord[]> {
    return this.#oneAtATime(async () => {
      for (const segment of this.#segments) {
        if (segment.last <= this.#state.acked) continue;
        const records = await this.#read(segment);
        const open = records.filter((r) => r.sequence > this.#state.acked);
        if (open.length > 0) return open.slice(0, max);
      }
      return [];
    });
  }

  /** The cloud took everything up to `sequence`. */
  ack(sequence: number): Promise<void> {
    return this.#oneAtATime(async () => {
      this.#state = { ...this.#state, acked: Math.max(this.#state.acked, sequence) };
      const done = this.#segments.filter((s) => s.last <= this.#state.acked && s !== this.#active);
      if (done.length > 0) await this.#remove(done);
    });
  }

  /** Writes down how far the cloud has come; without it more is sent again after the next start. */
  saveState(): Promise<void> {
    return this.#oneAtATime(() => this.#saveState());
  }

  /** Nothing more will be stored: nobody has to wait. */
  giveUp(): void {
    for (const { stored } of this.#pending.splice(0)) stored();
  }

  /** Appending, sending and dropping touch the same files: one after the other. */
  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => {});
    return result;
  }

  async #store(): Promise<void> {
    if (this.#pending.length === 0) return;
    const batch = [...this.#pending];
    const dropped = this.#dropped;
    const lines: Omit<SpoolRecord, 'sequence'>[] = batch.map(({ line, cursor }) => ({
      ...line,
      ...(cursor && { cursor }),
    }));
    if (dropped > 0) lines.push(droppedLine(dropped, lines.at(-1)!.time));
    let sequence = this.#state.last;
    const records = lines.map((line): SpoolRecord => ({ ...line, sequence: ++sequence }));
    const bytes = joined(records.map(encodeRecord));

    // Numbers of a write that failed half are not given again: its torn lines may be read after a new start.
    const first = this.#state.last + 1;
    this.#state = { ...this.#state, last: sequence };
    let active = this.#active;
    if (!active || active.bytes >= this.#limits.segmentBytes) {
      active = {
        name: `${this.bootId}.${String(first).padStart(12, '0')}.seg`,
        first,
        last: first - 1,
        bytes: 0,
        debugLines: 0,
      };
    }
    try {
      await this.#disk.append(`${folder}/${active.name}`, bytes);
    } catch (error) {
      this.#active = undefined; // its end may be torn; what lies before stays readable
      throw error;
    }
    if (this.#active !== active) this.#segments.push(active);
    this.#active = active;
    active.last = sequence;
    active.bytes += bytes.length;
    active.debugLines += records.filter((r) => r.level === 'debug').length;
    const cursor = records.findLast((r) => r.cursor)?.cursor;
    this.#state = { ...this.#state, ...(cursor && { cursor }) };
    this.#pending = this.#pending.filter((p) => !batch.includes(p));
    this.#dropped -= dropped;
    for (const { stored } of batch) stored();
    await this.#keepLimit();
    this.activity.update((n) => n + 1);
  }

  async #keepLimit(): Promise<void> {
    let total = this.#segments.reduce((sum, s) => sum + s.bytes, 0);
    while (total > this.#limits.totalBytes) {
      const closed = this.#segments.filter((s) => s !== this.#active);
      const wordy = closed.find((s) => s.debugLines > 0);
      const oldest = closed[0];
      if (wordy) total -= await this.#removeDebug(wordy);
      else if (oldest) {
        const open = (await this.#read(oldest)).filter((r) => r.sequence > this.#state.acked);
        this.#dropped += open.reduce((sum, r) => sum + countOf(r), 0);
        total -= oldest.bytes;
        await this.#remove([oldest]);
      } else return;
    }
  }

  async #removeDebug(segment: Segment): Promise<number> {
    const records = await this.#read(segment);
    const kept = records.filter((r) => r.level !== 'debug');
    this.#dropped += records.filter((r) => r.level === 'debug' && r.sequence > this.#state.acked).length;
    const before = segment.bytes;
    if (kept.length === 0) {
      await this.#remove([segment]);
      return before;
    }
    const bytes = joined(kept.map(encodeRecord));
    await this.#saveState(); // a debug line may have held the newest cursor
    await this.#disk.write(`${folder}/${segment.name}`, bytes);
    segment.bytes = bytes.length;
    segment.debugLines = 0;
    this.#head = undefined;
    return before - bytes.length;
  }

  async #remove(segments: readonly Segment[]): Promise<void> {
    await this.#saveState();
    for (const segment of segments) await this.#disk.remove(`${folder}/${segment.name}`);
    this.#segments = this.#segments.filter((s) => !segments.includes(s));
    this.#head = undefined;
  }

  #saveState(): Promise<void> {
    return this.#disk.write(stateFile, encodeState(this.#state));
  }

  async #read(segment: Segment): Promise<SpoolRecord[]> {
    if (this.#head?.segment === segment && this.#head.bytes === segment.bytes) return this.#head.records;
    const bytes = await this.#disk.read(`${folder}/${segment.name}`);
    // Beyond `last` lies what a failed write left; those lines were given new numbers.
    const records = bytes ? decodeRecords(bytes).filter((r) => r.sequence <= segment.last) : [];
    this.#head = { segment, bytes: segment.bytes, records };
    return records;
  }

  #dropPending(): void {
    const debug = this.#pending.findIndex((p) => p.line.level === 'debug');
    const [gone] = this.#pending.splice(Math.max(debug, 0), 1);
    this.#dropped += gone ? countOf(gone.line) : 0;
    gone?.stored();
  }
}

const droppedMessage = 'log lines were dropped because there was no room for them';
/** A notice that is dropped itself stands for the lines that it told of. */
const countOf = ({ message, fields }: LogLine): number => (message === droppedMessage ? Number(fields['lines']) : 1);
const droppedLine = (lines: number, time: number): LogLine => ({
  time,
  level: 'warn',
  logger: 'agent.logs',
  message: droppedMessage,
  fields: { lines },
});

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const p of parts) {
    whole.set(p, at);
    at += p.length;
  }
  return whole;
}
