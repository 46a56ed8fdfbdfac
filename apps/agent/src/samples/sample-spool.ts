import { oneAtATime } from '@platform/kit';
import { isObject } from '@platform/contract/text/json-object';
import type { UnsureTime } from '../clock/device-time.ts';
import type { Disk } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import type { Sample } from './sample.ts';
import { decodeSamples, encodeSample, type SampleRecord } from './sample-record.ts';

export const sampleFolder = 'samples';
const stateFile = `${sampleFolder}/state.json`;
const segmentName = /^(\d{8})\.jsonl$/;

/** 48 hours of one sample a minute: about 0.4 MB on disk. */
const mostWaiting = 2_880;
const samplesPerSegment = 120;
/** An online machine sends its samples before this number waits, and writes none to its disk. */
const storedAtOnce = 10;

/** Samples of one run that follow one another. */
export interface WaitingSamples {
  run: string;
  records: readonly SampleRecord[];
}

interface Segment {
  number: number;
  records: SampleRecord[];
}

/**
 * A queue of samples, oldest first. Each is named by the run of the agent that took it and a sequence, so the server
 * stores it once even if it is sent again. Beyond the limit the oldest are dropped.
 *
 * Order of writes: the state is on disk before a segment that was sent is removed. A power cut may bring back the file
 * of a segment, but not its samples.
 */
export class SampleSpool {
  readonly #disk: Disk;
  readonly #run: string;
  #lastSequence = 0;
  #waiting: SampleRecord[];
  /** Number of samples at the start of `#waiting` that are on disk. */
  #stored: number;
  #segments: Segment[];
  #lastNumber: number;
  readonly #oneAtATime = oneAtATime();

  private constructor(disk: Disk, run: string, found: { segments: Segment[]; lastNumber: number }) {
    this.#disk = disk;
    this.#run = run;
    this.#segments = found.segments;
    this.#lastNumber = found.lastNumber;
    this.#waiting = found.segments.flatMap(({ records }) => records);
    this.#stored = this.#waiting.length;
  }

  /** Opens what an earlier agent left. Skips what cannot be read. Never throws. @param run - random, of this run. */
  static async open(disk: Disk, run: string): Promise<SampleSpool> {
    const { value: done = 0 } = await readChecked(disk, stateFile, doneOf);
    const segments: Segment[] = [];
    let lastNumber = done;
    const seen = new Set<string>();
    for (const name of await disk.list(sampleFolder).catch(() => [])) {
      const number = Number(segmentName.exec(name)?.[1] ?? NaN);
      if (Number.isNaN(number)) continue;
      lastNumber = Math.max(lastNumber, number);
      const bytes = number > done ? await disk.read(`${sampleFolder}/${name}`).catch(() => undefined) : undefined;
      // A write that failed in part was repeated.
      const records = decodeSamples(bytes ?? new Uint8Array()).filter((record) => isFirst(seen, record));
      if (records.length > 0) segments.push({ number, records });
      else await disk.remove(`${sampleFolder}/${name}`).catch(() => {});
    }
    return new SampleSpool(disk, run, { segments, lastNumber });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when the samples that are due on disk are there, or the disk rejected them; they keep waiting then. */
  add(sample: Sample, unsure?: UnsureTime): Promise<void> {
    this.#waiting.push({ run: this.#run, sequence: ++this.#lastSequence, sample, ...(unsure && { unsure }) });
    return this.#oneAtATime(async () => {
      if (this.#waiting.length - this.#stored >= storedAtOnce) await this.#store();
      await this.#drop(this.#waiting.length - mostWaiting);
    });
  }

  /** The oldest samples, at most `most`. Undefined: none wait. */
  next(most: number): WaitingSamples | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const records: SampleRecord[] = [];
    for (const record of this.#waiting.slice(0, most)) {
      if (record.run !== first.run || record.sequence !== first.sequence + records.length) break;
      records.push(record);
    }
    return { run: first.run, records };
  }

  /** The server has stored them. */
  sent({ records }: WaitingSamples): Promise<void> {
    const sent = new Set(records);
    return this.#oneAtATime(() => this.#drop(this.#waiting.findLastIndex((record) => sent.has(record)) + 1));
  }

  /** Stores what waits, before the agent stops. */
  close(): Promise<void> {
    return this.#oneAtATime(() => this.#store());
  }

  async #store(): Promise<void> {
    while (this.#stored < this.#waiting.length) {
      let segment = this.#segments.at(-1);
      if (!segment || segment.records.length >= samplesPerSegment || segment.number < this.#lastNumber) {
        segment = { number: ++this.#lastNumber, records: [] };
        this.#segments.push(segment);
      }
      const room = samplesPerSegment - segment.records.length;
      const some = this.#waiting.slice(this.#stored, this.#stored + room);
      const bytes = Buffer.concat(some.map(encodeSample));
      const isStored = await this.#disk.append(fileOf(segment), bytes).then(
        () => true,
        () => false,
      );
      if (!isStored) return;
      segment.records.push(...some);
      this.#stored += some.length;
    }
  }

  /** Removes the oldest samples. */
  async #drop(count: number): Promise<void> {
    if (count <= 0) return;
    this.#waiting.splice(0, count);
    this.#stored = Math.max(0, this.#stored - count);
    const waiting = new Set(this.#waiting);
    const over = this.#segments.filter(({ records }) => !records.some((record) => waiting.has(record)));
    const last = over.at(-1);
    if (!last) return;
    this.#segments = this.#segments.filter((segment) => !over.includes(segment));
    await writeChecked(this.#disk, stateFile, { done: last.number }).catch(() => {});
    for (const segment of over) await this.#disk.remove(fileOf(segment)).catch(() => {});
  }
}

const fileOf = ({ number }: Segment): string => `${sampleFolder}/${String(number).padStart(8, '0')}.jsonl`;

function isFirst(seen: Set<string>, { run, sequence }: SampleRecord): boolean {
  const name = `${run} ${sequence}`;
  if (seen.has(name)) return false;
  seen.add(name);
  return true;
}

/** @throws Error if the value is not the state of a spool */
function doneOf(value: unknown): number {
  const done = isObject(value) ? value['done'] : undefined;
  if (!Number.isSafeInteger(done)) throw new Error('"done" must be a number');
  return done as number;
}
