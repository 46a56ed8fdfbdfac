import { logLimits } from '@platform/contract/logs/limits';
import { Cell, levels, type Level, type LogLine, oneAtATime } from '@platform/kit';
import type { UnsureTime } from '../clock/device-time.ts';
import type { Disk, Position } from '../os/ports.ts';
import { encodeChecked } from '../storage/checked-file.ts';
import { Losses, type LossReason } from './losses.ts';
import { PendingLines, sizeOf, type Pending } from './pending-lines.ts';
import { SpoolFiles } from './spool-files.ts';
import { countOf, findSegments, levelsOf, spoolStateFile, type Found, type Segment } from './spool-segments.ts';
import type { Cursor, SpoolRecord, SpoolState } from './spool-record.ts';

/** After this many failed writes in a row, lines are sent without being stored. */
const failuresUntilLoose = 3;
/** Limit for lines that are being sent without being stored. */
const mostLoose = 100;

export interface SpoolLimits {
  /**
   * Limit for all segments together. Beyond it, debug lines are dropped first, then info, then warnings, then the
   * oldest.
   */
  totalBytes: number;
  segmentBytes: number;
  /** Limit for lines that wait in memory, for example while the disk is full. */
  pendingLines: number;
  pendingBytes: number;
}
export const standardSpoolLimits: SpoolLimits = {
  totalBytes: logLimits.spoolBytes,
  segmentBytes: 64 * 2 ** 10,
  pendingLines: 5000,
  pendingBytes: 4 * 2 ** 20,
};

/**
 * A durable queue of log lines: plain segment files of checksummed lines. The boot ID of the start that stored a line
 * and its sequence identify it permanently, so the server stores it once even if it is sent again. Each start has a boot
 * ID of its own, because a folder can be copied or put back and then be continued twice. Sequences increase over all
 * starts: they give the order, and `acked` and `cursors` need no boot ID. Decision 0103.
 *
 * Order of writes: a line is on disk before it can be sent. The state is on disk before the last segment is removed, so
 * that no sequence is assigned twice. After a restart, existing segments are never appended to: a torn end stays at the
 * end.
 */
export class Spool {
  readonly #disk: Disk;
  readonly #limits: SpoolLimits;
  readonly #files: SpoolFiles;
  #state: SpoolState;
  #isSaved = true;
  readonly #pending: PendingLines;
  /** Lines that are sent without being stored. They are never stored later: they could arrive twice. */
  #loose: { record: SpoolRecord; entry: Pending }[] = [];
  readonly #looseId: string;
  #lastLoose = 0;
  #failures = 0;
  readonly #losses = new Losses();
  /** Appending, sending and discarding use the same files. */
  readonly #oneAtATime = oneAtATime();
  /** Changes whenever lines wait to be stored or sent. */
  readonly activity = new Cell(0);
  /** The damage that was found when the spool was opened, for users. */
  readonly problems: readonly string[];

  private constructor(disk: Disk, limits: SpoolLimits, found: Found, looseId: string) {
    this.#looseId = looseId;
    this.#disk = disk;
    this.#limits = limits;
    this.#files = new SpoolFiles(disk, found.segments, limits.segmentBytes);
    this.#pending = new PendingLines(limits, this.#losses);
    this.#state = found.state;
    this.problems = found.problems;
  }

  /**
   * Opens the spool that an earlier agent left. Skips unreadable parts and lists them in `problems`. Never throws.
   *
   * @param newId - returns a random ID: for the lines of this start, and for those sent without being stored.
   */
  static async open(disk: Disk, limits: SpoolLimits, newId: () => string): Promise<Spool> {
    return new Spool(disk, limits, await findSegments(disk, newId()), newId());
  }

  /** Identity of the lines that this start stores. */
  get bootId(): string {
    return this.#state.bootId;
  }

  /** The position up to which the followed file was read into this spool. */
  cursor(source: string): Position | undefined {
    return this.#state.cursors[source];
  }

  /** Nothing waits to be stored. */
  get isIdle(): boolean {
    return this.#pending.entries.length === 0 && this.#losses.isEmpty;
  }

  /** For the status: lines that the server has not accepted, lines dropped in this run, and bytes of all segments. */
  get counters(): { waitingLines: number; droppedLines: number; bytes: number } {
    const { acked } = this.#state;
    const open = this.#files.segments.filter((s) => s.last > acked);
    const stored = open.reduce(
      (sum, s) => sum + Math.min(s.last - acked, s.lines ? countOf(s.lines) : s.last - s.first + 1),
      0,
    );
    return {
      waitingLines: stored + this.#loose.length + this.#pending.entries.filter((p) => p.line).length,
      droppedLines: this.#losses.total,
      bytes: this.#files.bytes,
    };
  }

  /** Resolves when the line is durable, or was dropped for lack of space. */
  append(line: LogLine, also: { cursor?: Cursor | undefined; unsure?: UnsureTime | undefined } = {}): Promise<void> {
    return this.#enter({
      line,
      ...(also.cursor && { cursor: also.cursor }),
      ...(also.unsure && { unsure: also.unsure }),
    });
  }

  /** Stores a read position without a line. */
  move(cursor: Cursor): Promise<void> {
    return this.#enter({ cursor });
  }

  /** Counts lines that were lost before they reached the spool. */
  lose(because: LossReason, lines: number, from: number, to: number): void {
    this.#losses.add(because, lines, from, to);
    this.activity.update((n) => n + 1);
  }

  /** Stores the waiting lines. @throws if the disk rejects them; they keep waiting. */
  flush(): Promise<void> {
    return this.#oneAtATime(async () => {
      if (this.isIdle) return;
      try {
        for (let rounds = this.#pending.writes; rounds > 0 && !this.isIdle; rounds--) {
          await this.#store();
        }
        this.#failures = 0;
      } catch (error) {
        this.#failures++;
        this.activity.update((n) => n + 1);
        throw error;
      }
    });
  }

  /**
   * Returns the oldest lines that the server has not accepted: at most `max` lines and `maxBytes`, but at least one if
   * there is any.
   */
  next(max: number, maxBytes = Infinity): Promise<SpoolRecord[]> {
    return this.#oneAtATime(async () => {
      const unreadable: Segment[] = [];
      for (const segment of this.#files.segments) {
        if (segment.last <= this.#state.acked) continue;
        const records = await this.#files.read(segment);
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

  /** Records that the server has accepted all lines up to `sequence`. */
  ack(sequence: number): Promise<void> {
    return this.#oneAtATime(async () => {
      if (sequence <= this.#state.acked) return;
      this.#change({ acked: sequence });
      const done = this.#files.segments.filter((s) => s.last <= sequence && s !== this.#files.active);
      if (done.length > 0) await this.#remove(done);
    });
  }

  /** Lines are being sent without being stored. */
  get hasLoose(): boolean {
    return this.#loose.length > 0;
  }

  /**
   * While the disk rejects writes: returns the oldest lines in memory, under a separate ID because their sequences are
   * not stored. They are lost if this agent dies before `ackLoose`.
   */
  nextLoose(max: number): readonly SpoolRecord[] {
    if (this.#loose.length === 0 && this.#failures >= failuresUntilLoose) {
      // Each line is tried on the disk first: otherwise the agent would not notice that the disk accepts writes again.
      const taken = this.#pending.entries.filter((p) => p.line && p.isTried).slice(0, mostLoose);
      this.#pending.forget(taken);
      this.#loose = taken.flatMap((entry) =>
        entry.line ? [{ record: { ...entry.line, bootId: this.#looseId, sequence: ++this.#lastLoose }, entry }] : [],
      );
    }
    return this.#loose.map(({ record }) => record).slice(0, max);
  }

  ackLoose(sequence: number): void {
    const taken = this.#loose.filter(({ record }) => record.sequence <= sequence).map(({ entry }) => entry);
    this.#loose = this.#loose.filter(({ record }) => record.sequence > sequence);
    this.#takeCursors(taken.flatMap(({ cursor }) => (cursor ? [cursor] : [])));
    for (const { stored } of taken) stored();
  }

  /**
   * Stores what the server has accepted; without it, more lines are sent again after the next start.
   *
   * @param always - write even if nothing has changed.
   * @throws if the disk rejects the write.
   */
  saveState(always = false): Promise<void> {
    return this.#oneAtATime(() => {
      if (always) this.#isSaved = false;
      return this.#save();
    });
  }

  /** Releases all waiters: nothing more will be stored. */
  giveUp(): void {
    this.#pending.giveUp();
    for (const { entry } of this.#loose.splice(0)) entry.stored();
  }

  /** Removes unreadable segments, once readable lines after them were found. */
  async #giveUp(segments: readonly Segment[], time: number): Promise<void> {
    if (segments.length === 0) return;
    for (const { first, last } of segments) this.#losses.add('damaged', last - first + 1, time, time);
    await this.#remove(segments);
    this.activity.update((n) => n + 1);
  }

  #enter(entry: Omit<Pending, 'stored' | 'bytes'>): Promise<void> {
    return new Promise((resolve) => {
      this.#pending.add(entry, resolve);
      this.activity.update((n) => n + 1);
    });
  }

  #change(change: Partial<SpoolState>): void {
    this.#state = { ...this.#state, ...change };
    this.#isSaved = false;
  }

  async #store(): Promise<void> {
    const batch = this.#pending.batch();
    const lines = batch.flatMap(({ line, cursor, unsure }) =>
      line ? [{ ...line, ...(cursor && { cursor }), ...(unsure && { unsure }) }] : [],
    );
    const markers = this.#losses.take();
    const before = this.#files.active;
    try {
      await this.#append([...lines, ...markers]);
    } catch (error) {
      this.#losses.putBack(markers);
      for (const entry of batch) entry.isTried = true;
      throw error;
    }
    this.#change({ stored: Math.max(this.#state.stored, this.#files.active?.last ?? 0) });
    this.#takeCursors(batch.flatMap(({ cursor }) => (cursor ? [cursor] : [])));
    this.#pending.forget(batch);
    for (const { stored } of batch) stored();
    // Once per segment, so that the next start need not read earlier segments.
    if (this.#files.active && this.#files.active !== before) await this.#save().catch(() => {});
    await this.#keepLimit();
    if (lines.length + markers.length > 0) this.activity.update((n) => n + 1);
  }

  async #append(lines: readonly Omit<SpoolRecord, 'bootId' | 'sequence'>[]): Promise<void> {
    if (lines.length === 0) return;
    const first = this.#state.last + 1;
    let sequence = this.#state.last;
    const { bootId } = this;
    const records = lines.map((line): SpoolRecord => ({ ...line, bootId, sequence: ++sequence }));
    // Sequences of a partly failed write are not reused: its torn lines may be read after a restart.
    this.#change({ last: sequence });
    await this.#files.append(records, bootId, first);
  }

  #takeCursors(cursors: readonly Cursor[]): void {
    if (cursors.length === 0) return;
    const known = Object.fromEntries(cursors.map(({ source, file, offset }) => [source, { file, offset }]));
    this.#change({ cursors: { ...this.#state.cursors, ...known } });
  }

  async #keepLimit(): Promise<void> {
    const { totalBytes } = this.#limits;
    const excess = () => this.#files.bytes - totalBytes;
    for (let now = excess(), before = Infinity; now > 0 && now < before; before = now, now = excess()) {
      const closed = this.#files.segments.filter((s) => s !== this.#files.active);
      for (const segment of closed) segment.lines ??= levelsOf(await this.#files.read(segment).catch(() => []));
      const has = (s: Segment, level: Level): boolean => (s.lines?.[level] ?? 0) > 0;
      const level = levels.slice(0, -1).find((l) => closed.some((s) => has(s, l)));
      const oldest = level ? closed.find((s) => has(s, level)) : closed[0];
      if (!oldest) return;
      const hasOthers = level !== undefined && levels.some((l) => l !== level && has(oldest, l));
      // Rewriting needs some space itself; without it, drop the whole segment.
      if (!hasOthers || !(await this.#thin(oldest, level))) await this.#dropSegment(oldest);
    }
  }

  /** Removes the lines of one level from a segment. Returns false if the disk rejects the rest. */
  async #thin(segment: Segment, level: Level): Promise<boolean> {
    const records = await this.#files.read(segment);
    try {
      await this.#save(); // one of them may hold the newest cursor
      await this.#files.rewrite(
        segment,
        records.filter((r) => r.level !== level),
      );
    } catch {
      return false;
    }
    this.#lost(records.filter((r) => r.level === level));
    return true;
  }

  async #dropSegment(segment: Segment): Promise<void> {
    this.#lost(await this.#files.read(segment).catch(() => []));
    await this.#remove([segment]);
  }

  #lost(records: readonly SpoolRecord[]): void {
    for (const r of records) if (r.sequence > this.#state.acked) this.#losses.addLine('no room', r);
  }

  async #remove(segments: readonly Segment[]): Promise<void> {
    // A full disk rejects the state until segments are removed: all but the newest may be removed before it.
    const isSaved = await this.#save().then(
      () => true,
      () => false,
    );
    await this.#files.remove(segments.filter((s) => isSaved || s !== this.#files.segments.at(-1)));
  }

  async #save(): Promise<void> {
    if (this.#isSaved) return;
    const state = this.#state;
    await this.#disk.write(spoolStateFile, encodeChecked(state));
    if (this.#state === state) this.#isSaved = true;
  }
}
