import { estimateTime, longestLifeMs, sourceWall, type Clock, type Log, type LogLine } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { clearTrouble, setTrouble, type Troubles } from '../health/troubles.ts';

const file = 'state/time.json';
const firstSaveMs = 60_000;
const saveEveryMs = 6 * 3_600_000;
const tellSkewMs = 2 * 60_000;

/** The time of a line was not known when it was written: it came `at` ms of the monotonic clock of this run. */
export interface UnsureTime {
  run: string;
  at: number;
}

/** A log line with the time that it was written at. */
export interface TimedLine extends LogLine {
  unsure?: UnsureTime;
}

/** What the management server says that the time is, ms since 1970. */
export interface HeardTime {
  wall: number;
  /** It proved who it is by certificates that do not hold at the time of this machine's clock. */
  isClockRefuted: boolean;
}

/**
 * What time it is on a device that may have no clock of its own. The wall clock of the system is believed unless it
 * contradicts what is known: the age of this program, the last time that was stored, and what the cloud says.
 */
export class DeviceTime {
  readonly #parts: { disk: Disk; clock: Clock; troubles: Troubles; log: Log };
  /** Names this run: times of its monotonic clock mean nothing to another. */
  readonly #run: string;
  #floor = sourceWall;
  #floorAt: number;
  /** The cloud said `wall` at `at` of the monotonic clock. */
  #heard: (HeardTime & { at: number }) | undefined;

  constructor(parts: { disk: Disk; clock: Clock; troubles: Troubles; log: Log; run: string }) {
    this.#parts = parts;
    this.#run = parts.run;
    this.#floorAt = parts.clock.now();
  }

  /** Takes over what an earlier run knew. */
  async load(): Promise<void> {
    const { disk, clock } = this.#parts;
    const { value } = await readChecked(disk, file, (v) => Number((v as { last_seen?: unknown }).last_seen));
    if (value !== undefined && value > this.#floor && value < sourceWall + longestLifeMs) this.#floor = value;
    this.#floorAt = clock.now();
  }

  /** Whole ms since 1970, as well as it is known. */
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

  /** For lines that are written now: undefined when their time is good. */
  unsure(): UnsureTime | undefined {
    const { clock } = this.#parts;
    if (this.#heard || this.#isPlausible(clock.wall())) return undefined;
    return { run: this.#run, at: clock.now() };
  }

  /** What an expiry may be measured by; not trusted: it may be later than this. */
  trusted(): { now: number; trusted: boolean } {
    return { now: Math.max(this.wall(), this.#floor), trusted: this.#isPlausible(this.#parts.clock.wall()) };
  }

  /** The cloud's `Date`. Good to a second, and only as honest as the way to the cloud: log lines and people use it. */
  heard({ wall, isClockRefuted }: HeardTime): void {
    const { clock, troubles, log } = this.#parts;
    if (wall < sourceWall || wall > sourceWall + longestLifeMs) return;
    const isFirst = this.#heard === undefined;
    this.#heard = { wall, isClockRefuted, at: clock.now() };
    const system = clock.wall();
    const skewMs = system - wall;
    if (Math.abs(skewMs) < tellSkewMs) return clearTrouble(troubles, 'CLOCK_WRONG');
    const message = `The clock of this machine says ${shown(system)}, the management server ${shown(wall)}.`;
    if (isFirst) log.warn('the clock of this machine is wrong', { system: shown(system), cloud: shown(wall) });
    // The difference changes by seconds; the condition is told once.
    if (troubles.get().some((t) => t.code === 'CLOCK_WRONG')) return;
    const remedy = 'Set the clock of this machine; a time server does it by itself. Certificates depend on it.';
    setTrouble(troubles, { code: 'CLOCK_WRONG', severity: 'warning', message, remedy, sinceWall: wall });
  }

  /** A stored line as it is sent: with the time that is known by now, or a mark that it is not. */
  corrected<T extends TimedLine>(record: T): T {
    const { unsure } = record;
    if (!unsure) return record;
    if (unsure.run === this.#run && this.isKnown) {
      return { ...record, time: Math.round(this.wall() - (this.#parts.clock.now() - unsure.at)) };
    }
    return { ...record, fields: { ...record.fields, time_is: 'estimated' } };
  }

  /** The time is known by now, be it by the system or by the cloud. */
  get isKnown(): boolean {
    return this.#heard !== undefined || this.#isPlausible(this.#parts.clock.wall());
  }

  /** Stores the time now and then, so that a later start without a clock begins no earlier. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    await clock.sleep(firstSaveMs, signal);
    while (!signal.aborted) {
      await this.save();
      await clock.sleep(saveEveryMs, signal);
    }
  }

  async save(): Promise<void> {
    const { disk } = this.#parts;
    if (!this.isKnown) return;
    // A failure costs a worse estimate after a start without a clock: no reason to disturb anybody.
    await writeChecked(disk, file, { last_seen: Math.floor(this.wall()) }).catch(() => {});
  }

  #isPlausible(system: number): boolean {
    return estimateTime({ floor: this.#floor, system }).now === system;
  }
}

const shown = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
