import { changedOr, estimateTime, longestLifeMs, sourceWall, type Clock, type Log, type LogLine } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';

const file = 'state/time.json';
const firstSaveMs = 60_000;
const saveEveryMs = 6 * 3_600_000;
/** A smaller difference sets no condition. */
export const tellSkewMs = 2 * 60_000;
/** While the clock is wrong, it is compared this often: no answer may come for days. */
export const wrongClockLookMs = 60_000;

/** The time of a line was unknown when it was written: the monotonic clock of this run was at `at` ms. */
export interface UnsureTime {
  run: string;
  at: number;
}

/** A log line with the time at which it was written. */
export interface TimedLine extends LogLine {
  unsure?: UnsureTime;
}

/** The management server's time, ms since 1970. */
export interface HeardTime {
  wall: number;
  /** The server's certificate chain is not valid at the time of this machine's clock. */
  isClockRefuted: boolean;
}

/**
 * The current time on a device that may have no real-time clock. The system clock is used unless it is implausible. It
 * is checked against the build time of this program, the last stored time and the server's time.
 */
export class DeviceTime {
  readonly #parts: { disk: Disk; clock: Clock; conditions: ConditionSet; log: Log };
  /** Identifies this run: its monotonic times are meaningless in another run. */
  readonly #run: string;
  #floor = sourceWall;
  #floorAt: number;
  /** The server reported `wall` when the monotonic clock was at `at`. */
  #heard: (HeardTime & { at: number }) | undefined;

  constructor(parts: { disk: Disk; clock: Clock; conditions: ConditionSet; log: Log; run: string }) {
    this.#parts = parts;
    this.#run = parts.run;
    this.#floorAt = parts.clock.now();
  }

  /** Restores the last stored time of an earlier run. */
  async load(): Promise<void> {
    const { disk, clock } = this.#parts;
    const { value } = await readChecked(disk, file, (v) => Number((v as { last_seen?: unknown }).last_seen));
    if (value !== undefined && value > this.#floor && value < sourceWall + longestLifeMs) this.#floor = value;
    this.#floorAt = clock.now();
  }

  /** Whole ms since 1970, the best estimate. */
  wall(): number {
    const { clock } = this.#parts;
    const now = clock.now();
    const system = clock.wall();
    const heard = this.#heard && Math.round(this.#heard.wall + (now - this.#heard.at));
    const isRefuted = this.#heard?.isClockRefuted === true && Math.abs(system - heard!) >= tellSkewMs;
    if (!isRefuted && this.#isPlausible(system)) return system;
    if (heard !== undefined) return heard;
    return Math.round(this.#floor + (now - this.#floorAt));
  }

  /** For lines that are written now: undefined if their time is reliable. */
  unsure(): UnsureTime | undefined {
    const { clock } = this.#parts;
    if (this.#heard || this.#isPlausible(clock.wall())) return undefined;
    return { run: this.#run, at: clock.now() };
  }

  /** The time against which an expiry is checked. If `trusted` is false, the true time may be later. */
  trusted(): { now: number; trusted: boolean } {
    return { now: Math.max(this.wall(), this.#floor), trusted: this.#isPlausible(this.#parts.clock.wall()) };
  }

  /**
   * Takes the server's `Date` header. It has a resolution of a second and is only as trustworthy as the connection. Log
   * lines and users rely on it.
   */
  heard({ wall, isClockRefuted }: HeardTime): void {
    const { clock, conditions, log } = this.#parts;
    if (wall < sourceWall || wall > sourceWall + longestLifeMs) return;
    const isFirst = this.#heard === undefined;
    this.#heard = { wall, isClockRefuted, at: clock.now() };
    const system = clock.wall();
    const skewMs = system - wall;
    if (Math.abs(skewMs) < tellSkewMs) return clearCondition(conditions, 'CLOCK_WRONG');
    const data = { system: shown(system), server: shown(wall) };
    if (isFirst) log.warn('the clock of this machine is wrong', data);
    // The difference varies by seconds; set the condition once.
    if (this.#isCalledWrong) return;
    setCondition(conditions, 'CLOCK_WRONG', data, { sinceWall: wall });
  }

  /** A stored line as it is sent: with the corrected time, or marked as estimated. */
  corrected<T extends TimedLine>(record: T): T {
    if (!record.unsure) return record;
    const { time, isEstimated } = this.timeOf(record);
    return isEstimated ? { ...record, fields: { ...record.fields, time_is: 'estimated' } } : { ...record, time };
  }

  /** When something was noted: corrected if its time was unknown then, or estimated. */
  timeOf({ time, unsure }: { time: number; unsure?: UnsureTime }): { time: number; isEstimated: boolean } {
    if (!unsure) return { time, isEstimated: false };
    if (unsure.run !== this.#run || !this.isKnown) return { time, isEstimated: true };
    return { time: Math.round(this.wall() - (this.#parts.clock.now() - unsure.at)), isEstimated: false };
  }

  /** The time is known from the system clock or from the server. */
  get isKnown(): boolean {
    return this.#heard !== undefined || this.#isPlausible(this.#parts.clock.wall());
  }

  /**
   * Stores the time periodically, so that a later start without a clock does not begin earlier. Notices that a wrong
   * clock was set, also while the server is out of reach.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, conditions } = this.#parts;
    let saveAt = clock.now() + firstSaveMs;
    while (!signal.aborted) {
      const toSaveMs = saveAt - clock.now();
      await changedOr(conditions, this.#isCalledWrong ? Math.min(wrongClockLookMs, toSaveMs) : toSaveMs, clock, signal);
      if (this.#isCalledWrong && Math.abs(this.#skewMs ?? 0) < tellSkewMs) clearCondition(conditions, 'CLOCK_WRONG');
      if (signal.aborted || clock.now() < saveAt) continue;
      await this.save();
      saveAt = clock.now() + saveEveryMs;
    }
  }

  async save(): Promise<void> {
    const { disk } = this.#parts;
    if (!this.isKnown) return;
    // A failure only makes the estimate worse after a start without a clock.
    await writeChecked(disk, file, { last_seen: Math.floor(this.wall()) }).catch(() => {});
  }

  get #isCalledWrong(): boolean {
    return this.#parts.conditions.get().some(({ code }) => code === 'CLOCK_WRONG');
  }

  /** System clock minus the server's time, as it went on since; undefined: the server was not heard. */
  get #skewMs(): number | undefined {
    const { clock } = this.#parts;
    return this.#heard && clock.wall() - (this.#heard.wall + clock.now() - this.#heard.at);
  }

  #isPlausible(system: number): boolean {
    return estimateTime({ floor: this.#floor, system }).now === system;
  }
}

const shown = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
