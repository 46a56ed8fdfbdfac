import { Cell, errorText, levels, type Level, type LogLine } from '@platform/kit';
import type { Disk, Position } from '../os/ports.ts';
import { decodeChecked, encodeChecked } from './checked-file.ts';
import { Losses, type LossReason } from './losses.ts';
import {
  decodeRecords,
  encodeRecord,
  stateOf,
  type Cursor,
  type SpoolRecord,
  type SpoolState,
  type UnsureTime,
} from './spool-record.ts';

const folder = 'spool';
const stateFile = `${folder}/state`;
const writeBytes = 256 * 2 ** 10;

interface Segment {
  readonly name: string;
  readonly first: number;
  last: number;
  bytes: number;
  /** How many lines of each level; undefined: not read yet. */
  lines: Record<Level, number> | undefined;
}

interface Pending {
  /** Absent: only the cursor moves. */
  line?: LogLine;
  cursor?: Cursor;
  unsure?: UnsureTime;
  bytes: number;
  stored: () => void;
}

export interface SpoolLimits {
  /** Of all segments together; beyond it debug lines go first, then info, then warnings, then the oldest. */
  totalBytes: number;
  segmentBytes: number;
  /** Lines that wait in memory, for example while the disk is full. */
  pendingLines: number;
  pendingBytes: number;
}
export const standardSpoolLimits: SpoolLimits = {
  totalBytes: 16 * 2 ** 20,
  segmentBytes: 64 * 2 ** 10,
  pendingLines: 5000,
  pendingBytes: 4 * 2 ** 20,
};

/**
 * A durable queue of log lines: plain segment files of checksummed lines. A line has a number that is given once; with
 * the id of the spool it names the line for ever, so the cloud takes it once however often it is sent.
 *
 * Order of writes: a line is on disk before it can be sent; the state is on disk before the last segment is removed, so
 * that no number is given twice. A segment is never appended to after a new start: a torn end stays an end.
 */
export class Spool {
  readonly #disk: Disk;
  readonly #limits: SpoolLimits;
  #segments: Segment[];
  #active: Segment | undefined;
  /** A write into it failed half. */
  #torn: Segment | undefined;
  #state: SpoolState;
  #isSaved = true;
  #pending: Pending[] = [];
  #pendingBytes = 0;
  readonly #losses = new Losses();
  #head: { segment: Segment; bytes: number; records: SpoolRecord[] } | undefined;
  #work: Promise<unknown> = Promise.resolve();
  /** Changes whenever lines wait to be stored or sent. */
  readonly activity = new Cell(0);
  /** What was found damaged when it was opened, for people. */
  readonly problems: readonly string[];

  private constructor(disk: Disk, limits: SpoolLimits, found: Found) {
    this.#disk = disk;
    this.#limits = limits;
    this.#segments = found.segments;
    this.#state = found.state;
    this.problems = found.problems;
  }

  /**
   * Takes over what an earlier agent left; what cannot be read is left out and told in `problems`. Never throws.
   *
   * @param newId - a random id, used when there is no spool yet.
   */
  static async open(disk: Disk, limits: SpoolLimits, newId: () => string): Promise<Spool> {
    return new Spool(disk, limits, await find(disk, newId));
  }

  get bootId(): string {
    return this.#state.bootId;
  }

  /** How far the followed file was read into this spool. */
  cursor(source: string): Position | undefined {
    return this.#state.cursors[source];
  }

  /** Nothing waits to be stored. */
  get isIdle(): boolean {
    return this.#pending.length === 0 && this.#losses.isEmpty;
  }

  /** For status: lines and bytes that the cloud has not taken, lines that were dropped in this run. */
  get counters(): { waitingLines: number; droppedLines: number; bytes: number } {
    const { acked } = this.#state;
    const open = this.#segments.filter((s) => s.last > acked);
    const stored = open.reduce(
      (sum, s) => sum + Math.min(s.last - acked, s.lines ? countOf(s.lines) : s.last - s.first + 1),
      0,
    );
    return {
      waitingLines: stored + this.#pending.filter((p) => p.line).length,
      droppedLines: this.#losses.total,
      bytes: this.#segments.reduce((sum, s) => sum + s.bytes, 0),
    };
  }

  /** Resolves when the line is durable (or was dropped for want of room). */
  append(line: LogLine, also: { cursor?: Cursor | undefined; unsure?: UnsureTime | undefined } = {}): Promise<void> {
    return this.#enter({
      line,
      ...(also.cursor && { cursor: also.cursor }),
      ...(also.unsure && { unsure: also.unsure }),
    });
  }

  /** The source was read that far, and nothing of it is to be stored. */
  move(cursor: Cursor): Promise<void> {
    return this.#enter({ cursor });
  }

  /** Lines that never came here are gone. */
  lose(because: LossReason, lines: number, from: number, to: number): void {
    this.#losses.add(because, lines, from, to);
    this.activity.update((n) => n + 1);
  }

  /** Stores what waits. @throws when the disk does not take it; the lines go on waiting. */
  flush(): Promise<void> {
    return this.#oneAtATime(async () => {
      for (let rounds = Math.ceil(this.#pendingBytes / writeBytes) + 1; rounds > 0 && !this.isIdle; rounds--) {
        await this.#store();
      }
    });
  }

  /** The oldest lines that the cloud has not taken, at most `max` lines of together `maxBytes`, but one at least. */
  next(max: number, maxBytes = Infinity): Promise<SpoolRecord[]> {
    return this.#oneAtATime(async () => {
      const unreadable: Segment[] = [];
      for (const segment of this.#segments) {
        if (segment.last <= this.#state.acked) continue;
        const records = await this.#read(segment);
        if (records.length === 0) unreadable.push(segment);
        const open = records.filter((r) => r.sequence > this.#state.acked).slice(0, max);
        let bytes = 0;
        const few = open.filter((r, i) => (bytes += sizeOf(r)) <= maxBytes || i === 0);
        if (few.length === 0) continue;
        await this.#giveUp(unreadable, few[0]?.time ?? 0);
        return few;
      }
      return [];
    });
  }

  /** The cloud took everything up to `sequence`. */
  ack(sequence: number): Promise<void> {
    return this.#oneAtATime(async () => {
      if (sequence <= this.#state.acked) return;
      this.#change({ acked: sequence });
      const done = this.#segments.filter((s) => s.last <= sequence && s !== this.#active);
      if (done.length > 0) await this.#remove(done);
    });
  }

  /** Writes down how far the cloud has come; without it more is sent again after the next start. */
  saveState(): Promise<void> {
    return this.#oneAtATime(() => this.#save());
  }

  /** Nothing more will be stored: nobody has to wait. */
  giveUp(): void {
    for (const { stored } of this.#pending.splice(0)) stored();
    this.#pendingBytes = 0;
  }

  /** Segments in which nothing can be read; lines after them have been found. */
  async #giveUp(segments: readonly Segment[], time: number): Promise<void> {
    if (segments.length === 0) return;
    for (const { first, last } of segments) this.#losses.add('damaged', last - first + 1, time, time);
    await this.#remove(segments);
    this.activity.update((n) => n + 1);
  }

  #enter(entry: Omit<Pending, 'stored' | 'bytes'>): Promise<void> {
    return new Promise((resolve) => {
      const bytes = entry.line ? sizeOf(entry.line) : 0;
      this.#pending.push({ ...entry, bytes, stored: resolve });
      this.#pendingBytes += bytes;
      const { pendingLines, pendingBytes } = this.#limits;
      while (this.#pending.length > pendingLines || this.#pendingBytes > pendingBytes) this.#dropPending();
      this.activity.update((n) => n + 1);
    });
  }

  /** Appending, sending and dropping touch the same files: one after the other. */
  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => {});
    return result;
  }

  #change(change: Partial<SpoolState>): void {
    this.#state = { ...this.#state, ...change };
    this.#isSaved = false;
  }

  async #store(): Promise<void> {
    let bytes = 0;
    const batch = this.#pending.filter((p) => (bytes += p.bytes) <= writeBytes);
    if (batch.length === 0 && this.#pending[0]) batch.push(this.#pending[0]);
    const lines = batch.flatMap(({ line, cursor, unsure }) =>
      line ? [{ ...line, ...(cursor && { cursor }), ...(unsure && { unsure }) }] : [],
    );
    const markers = this.#losses.take();
    const before = this.#active;
    try {
      await this.#append([...lines, ...markers]);
    } catch (error) {
      this.#losses.putBack(markers);
      throw error;
    }
    this.#change({ stored: Math.max(this.#state.stored, this.#active?.last ?? 0) });
    this.#takeCursors(batch.flatMap(({ cursor }) => (cursor ? [cursor] : [])));
    this.#forget(batch);
    for (const { stored } of batch) stored();
    // Once for each segment, so that a new start need not read what lies before.
    if (this.#active && this.#active !== before) await this.#save().catch(() => {});
    await this.#keepLimit();
    if (lines.length + markers.length > 0) this.activity.update((n) => n + 1);
  }

  async #append(lines: readonly Omit<SpoolRecord, 'sequence'>[]): Promise<void> {
    if (lines.length === 0) return;
    const first = this.#state.last + 1;
    let sequence = this.#state.last;
    const records = lines.map((line): SpoolRecord => ({ ...line, sequence: ++sequence }));
    const bytes = joined(records.map(encodeRecord));
    // Numbers of a write that failed half are not given again: its torn lines may be read after a new start.
    this.#change({ last: sequence });
    const open = this.#active && this.#active.bytes < this.#limits.segmentBytes ? this.#active : undefined;
    const active = open ?? newSegment(`${this.bootId}.${String(first).padStart(12, '0')}.seg`, first);
    if (open) {
      try {
        await this.#disk.append(`${folder}/${active.name}`, bytes);
      } catch (error) {
        this.#active = undefined; // its end may be torn; what lies before stays readable
        this.#torn = open;
        throw error;
      }
    } else {
      await this.#disk.write(`${folder}/${active.name}`, bytes); // whole or not at all, whatever had this name
      this.#segments.push(active);
      this.#active = active;
      await this.#mend();
    }
    active.last = sequence;
    active.bytes += bytes.length;
    for (const { level } of records) if (active.lines) active.lines[level]++;
  }

  /** Cuts off what a failed write left: its lines have got new numbers by now, and must not be read again. */
  async #mend(): Promise<void> {
    const torn = this.#torn;
    if (!torn || !this.#segments.includes(torn)) return;
    try {
      const records = await this.#read(torn);
      await this.#disk.write(`${folder}/${torn.name}`, joined(records.map(encodeRecord)));
      this.#torn = undefined;
    } catch {
      // at the next segment again
    }
  }

  #takeCursors(cursors: readonly Cursor[]): void {
    if (cursors.length === 0) return;
    const known = Object.fromEntries(cursors.map(({ source, file, offset }) => [source, { file, offset }]));
    this.#change({ cursors: { ...this.#state.cursors, ...known } });
  }

  #forget(gone: readonly Pending[]): void {
    const all = new Set(gone);
    this.#pending = this.#pending.filter((p) => !all.has(p));
    for (const { bytes } of gone) this.#pendingBytes -= bytes;
  }

  async #keepLimit(): Promise<void> {
    const { totalBytes } = this.#limits;
    const excess = () => this.#segments.reduce((sum, s) => sum + s.bytes, 0) - totalBytes;
    for (let now = excess(), before = Infinity; now > 0 && now < before; before = now, now = excess()) {
      const closed = this.#segments.filter((s) => s !== this.#active);
      for (const segment of closed) segment.lines ??= levelsOf(await this.#read(segment).catch(() => []));
      const has = (s: Segment, level: Level): boolean => (s.lines?.[level] ?? 0) > 0;
      const level = levels.slice(0, -1).find((l) => closed.some((s) => has(s, l)));
      const oldest = level ? closed.find((s) => has(s, level)) : closed[0];
      if (!oldest) return;
      const hasOthers = level !== undefined && levels.some((l) => l !== level && has(oldest, l));
      // Leaving lines out needs a little room itself; where there is none, all of the segment goes.
      if (!hasOthers || !(await this.#thin(oldest, level))) await this.#dropSegment(oldest);
    }
  }

  /** Leaves the lines of one level out of a segment. False: the disk does not take what is left. */
  async #thin(segment: Segment, level: Level): Promise<boolean> {
    const records = await this.#read(segment);
    const kept = records.filter((r) => r.level !== level);
    const bytes = joined(kept.map(encodeRecord));
    try {
      await this.#save(); // one of them may have held the newest cursor
      await this.#disk.write(`${folder}/${segment.name}`, bytes);
    } catch {
      return false;
    }
    this.#lost(records.filter((r) => r.level === level));
    segment.bytes = bytes.length;
    if (segment.lines) segment.lines[level] = 0;
    this.#head = undefined;
    return true;
  }

  async #dropSegment(segment: Segment): Promise<void> {
    this.#lost(await this.#read(segment).catch(() => []));
    await this.#remove([segment]);
  }

  #lost(records: readonly SpoolRecord[]): void {
    for (const r of records) if (r.sequence > this.#state.acked) this.#losses.addLine('no room', r);
  }

  async #remove(segments: readonly Segment[]): Promise<void> {
    // On a full disk the state cannot be written, and only removing makes room: all but the newest may go before it.
    const isSaved = await this.#save().then(
      () => true,
      () => false,
    );
    const gone = segments.filter((s) => isSaved || s !== this.#segments.at(-1));
    for (const { name } of gone) await this.#disk.remove(`${folder}/${name}`).catch(() => {});
    this.#segments = this.#segments.filter((s) => !gone.includes(s));
    this.#head = undefined;
  }

  async #save(): Promise<void> {
    if (this.#isSaved) return;
    const state = this.#state;
    await this.#disk.write(stateFile, encodeChecked(state));
    if (this.#state === state) this.#isSaved = true;
  }

  async #read(segment: Segment): Promise<SpoolRecord[]> {
    if (this.#head?.segment === segment && this.#head.bytes === segment.bytes) return this.#head.records;
    const bytes = await this.#disk.read(`${folder}/${segment.name}`);
    // Beyond `last` lies what a failed write left; those lines were given new numbers.
    const records = bytes ? decodeRecords(bytes).filter((r) => r.sequence <= segment.last) : [];
    segment.lines ??= levelsOf(records);
    this.#head = { segment, bytes: segment.bytes, records };
    return records;
  }

  #dropPending(): void {
    const wordy = levels
      .map((level) => this.#pending.find((p) => p.line?.level === level))
      .find((p) => p !== undefined);
    const gone = wordy ?? this.#pending[0];
    if (!gone) return;
    this.#forget([gone]);
    if (gone.line) this.#losses.addLine('the disk takes nothing', gone.line);
    gone.stored();
  }
}

interface Found {
  segments: Segment[];
  state: SpoolState;
  problems: string[];
}

async function find(disk: Disk, newId: () => string): Promise<Found> {
  const segments: Segment[] = [];
  const problems: string[] = [];
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      problems.push(`${what}: ${errorText(error)}`);
      return undefined;
    }
  };
  const stored = await attempt(stateFile, () => disk.read(stateFile));
  let state = await attempt(stateFile, async () => {
    const decoded = decodeChecked(stored);
    if (stored && !decoded) throw new Error('it is damaged; made anew from the lines');
    return decoded && stateOf(decoded.value);
  });
  const cursors: Record<string, Position> = { ...state?.cursors };
  const known = state?.stored ?? 0; // of these lines the state says how far their sources were read
  let last = state?.last ?? 0;
  const names = ((await attempt(folder, () => disk.list(folder))) ?? []).filter((n) => n.endsWith('.seg'));
  for (const [i, name] of names.entries()) {
    const bytes = await attempt(name, async () => (await disk.read(`${folder}/${name}`)) ?? new Uint8Array());
    if (!bytes) continue;
    const [bootId = '', first = NaN] = [name.split('.')[0], Number(name.split('.')[1])];
    const next = Number(names[i + 1]?.split('.')[1]);
    if (bootId === state?.bootId && first > 0 && next > first && next <= known + 1 && bytes.length > 0) {
      // All of it is older than the state: not read before it is needed, a full spool would delay the start.
      segments.push({ name, first, last: next - 1, bytes: bytes.length, lines: undefined });
      continue;
    }
    const records = decodeRecords(bytes);
    if (records.length === 0 && bytes.length > 0) problems.push(`${name}: nothing in it can be read; removed`);
    if (records.length > 0) state ??= { bootId, acked: 0, last: 0, stored: 0, cursors: {} };
    if (records.length === 0 || bootId !== state?.bootId) {
      await attempt(name, () => disk.remove(`${folder}/${name}`));
      continue;
    }
    for (const { cursor, sequence } of records) {
      if (cursor && sequence > known) cursors[cursor.source] = { file: cursor.file, offset: cursor.offset };
    }
    const segment: Segment = {
      name,
      first: records[0]?.sequence ?? 0,
      last: records.at(-1)?.sequence ?? 0,
      bytes: bytes.length,
      lines: levelsOf(records),
    };
    segments.push(segment);
    last = Math.max(last, segment.last);
  }
  state ??= { bootId: newId(), acked: 0, last: 0, stored: 0, cursors: {} };
  return { segments, state: { ...state, last: Math.max(last, state.acked), cursors }, problems };
}

const newSegment = (name: string, first: number): Segment => ({
  name,
  first,
  last: first - 1,
  bytes: 0,
  lines: levelsOf([]),
});
function levelsOf(records: readonly SpoolRecord[]): Record<Level, number> {
  const lines = { debug: 0, info: 0, warn: 0, error: 0 };
  for (const { level } of records) lines[level]++;
  return lines;
}
const countOf = (lines: Record<Level, number>): number => levels.reduce((sum, level) => sum + lines[level], 0);
/** About as many bytes as it takes on the disk and on the wire. */
const sizeOf = ({ message, fields }: LogLine): number =>
  message.length +
  120 +
  Object.values(fields).reduce<number>((sum, v) => sum + (typeof v === 'string' ? v.length : 16), 0);

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const p of parts) {
    whole.set(p, at);
    at += p.length;
  }
  return whole;
}
