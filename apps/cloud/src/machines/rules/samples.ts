// Samples of what a machine uses: which of a batch are new, and their averages for an answer.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type DeviceSample,
  type MachineSampleSchema,
  type SampleBatch,
  SampleBatchSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

/** More than the 48 hours that an agent keeps and a day of its own; a machine that sends more loses the rest. */
export const mostSamplesPerDay = 6_000;
/** More than an agent sends with a check. */
const mostPerBatch = 1_440;
const longestId = 100;
/** Years 1970 to 9999, in seconds since 1970. */
const latest = 253_402_300_799;

export interface SampleState {
  spoolId: string;
  /** No stored sample of this spool has a higher sequence. */
  lastSequence: number;
  /** How many are stored today. */
  dayCount: number;
}

/** Samples that follow one another, to be stored in one row. */
export interface SampleRun {
  firstSequence: number;
  lastSequence: number;
  batch: SampleBatch;
}

export interface NewSampleRuns {
  runs: readonly SampleRun[];
  /** How many of them came under the sequence of a different sample. */
  different: number;
}

/** A sample with its identity, and its time in seconds since 1970. */
interface NumberedSample {
  sequence: number;
  second: number;
  sample: DeviceSample;
}

/** The samples of a batch with their sequences. Undefined: the batch cannot be right. */
export function numberedSamples({ spoolId, firstSequence, start, samples }: SampleBatch): NumberedSample[] | undefined {
  const first = Number(firstSequence);
  if (spoolId === '' || spoolId.length > longestId || spoolId.includes('\0')) return undefined;
  if (!Number.isSafeInteger(first) || first < 1 || samples.length === 0 || samples.length > mostPerBatch)
    return undefined;
  const numbered = samples.map((sample, i) => ({
    sequence: first + i,
    second: Number(start) + sample.seconds,
    sample,
  }));
  return numbered.every(({ second }) => second <= latest) ? numbered : undefined;
}

/**
 * The samples that are not stored yet. A sample under the sequence of a different one is new: a process was resumed
 * twice from a snapshot of its memory.
 *
 * @param stored - rows of the same spool with any of these sequences
 */
export function newSamples(
  samples: readonly NumberedSample[],
  stored: readonly SampleRun[],
  room: number,
): NewSampleRuns {
  const known = Map.groupBy(stored.flatMap(samplesOf), ({ sequence }) => sequence);
  const fresh = samples
    .filter((sample) => !known.get(sample.sequence)?.some((one) => isSameSample(one, sample)))
    .slice(0, Math.max(0, room));
  const runs: NumberedSample[][] = [];
  for (const sample of fresh) {
    const last = runs.at(-1);
    if (last?.at(-1)?.sequence === sample.sequence - 1) last.push(sample);
    else runs.push([sample]);
  }
  return { runs: runs.map(runOf), different: fresh.filter(({ sequence }) => known.has(sequence)).length };
}

function runOf(samples: readonly NumberedSample[]): SampleRun {
  const start = samples.reduce((least, { second }) => Math.min(least, second), Infinity);
  const batch = create(SampleBatchSchema, {
    start: BigInt(start),
    samples: samples.map(({ sample, second }) => ({ ...sample, seconds: second - start })),
  });
  return { firstSequence: samples[0]!.sequence, lastSequence: samples.at(-1)!.sequence, batch };
}

const samplesOf = ({ firstSequence, batch }: SampleRun): NumberedSample[] =>
  batch.samples.map((sample, i) => ({
    sequence: firstSequence + i,
    second: Number(batch.start) + sample.seconds,
    sample,
  }));

/** An agent corrects the time of a sample when it learns the right one. */
const correctedSeconds = 60;

function isSameSample(a: NumberedSample, b: NumberedSample): boolean {
  const isEstimated = a.sample.timeEstimated || b.sample.timeEstimated;
  return (
    (isEstimated || Math.abs(a.second - b.second) <= correctedSeconds) &&
    Object.values(values).every((read) => read(a.sample) === read(b.sample))
  );
}

/** First and last time of a batch, in seconds since 1970. */
export function spanOf({ start, samples }: SampleBatch): { firstTime: number; lastTime: number } {
  const times = samples.map(({ seconds }) => Number(start) + seconds);
  return { firstTime: Math.min(...times), lastTime: Math.max(...times) };
}

type Answered = MessageInitShape<typeof MachineSampleSchema>;

/** Values of samples with a time in ms since 1970. */
interface TimedSample {
  time: number;
  sample: DeviceSample;
}

export function timedSamples({ start, samples }: SampleBatch): TimedSample[] {
  return samples.map((sample) => ({ time: (Number(start) + sample.seconds) * 1000, sample }));
}

const values = {
  processorPercent: ({ processorPermille: value }) => value && value / 10,
  memoryPercent: ({ memoryPermille: value }) => value && value / 10,
  diskPercent: ({ diskPermille: value }) => value && value / 10,
  temperatureCelsius: ({ temperatureTenths: value }) => value && value / 10,
  receivedBytesPerSecond: ({ receivedBytesPerSecond: value }) => (value === undefined ? undefined : Number(value)),
  sentBytesPerSecond: ({ sentBytesPerSecond: value }) => (value === undefined ? undefined : Number(value)),
} as const satisfies Partial<Record<keyof Answered, (sample: DeviceSample) => number | undefined>>;

/** Round lengths of time, from minutes to a day. */
const intervals = [1, 2, 5, 10, 15, 20, 30, 60, 120, 240, 360, 720, 1_440].map((minutes) => minutes * 60_000);

/** The shortest interval by which a span has at most `most` averages. Undefined: single samples fit. */
export function intervalOf({ from, until }: { from: number; until: number }, most: number): number | undefined {
  const found = intervals.find((ms) => (until - from) / ms <= most) ?? Math.ceil((until - from) / most);
  return found <= intervals[0]! ? undefined : found;
}

/**
 * Samples of a span for an answer: single ones, or the average over each interval.
 *
 * @param interval - undefined: single samples, of which the newest are answered.
 */
export function answeredSamples(
  samples: readonly TimedSample[],
  { from, until }: { from: number; until: number },
  { interval, most }: { interval: number | undefined; most: number },
): Answered[] {
  const sorted = samples.filter(({ time }) => time >= from && time <= until).toSorted((a, b) => a.time - b.time);
  if (interval === undefined) return sorted.slice(-most).map((one) => average([one], one.time));
  const groups = Map.groupBy(sorted, ({ time }) => from + Math.floor((time - from) / interval) * interval);
  return [...groups].slice(-most).map(([time, group]) => average(group, time));
}

function average(group: readonly TimedSample[], time: number): Answered {
  const answered: Record<string, number> = {};
  for (const [name, read] of Object.entries(values)) {
    const known = group.map(({ sample }) => read(sample)).filter((value) => value !== undefined);
    if (known.length > 0) answered[name] = known.reduce((sum, value) => sum + value, 0) / known.length;
  }
  const seconds = Math.floor(time / 1000);
  return {
    ...answered,
    time: { seconds: BigInt(seconds), nanos: 0 },
    timeEstimated: group.some(({ sample }) => sample.timeEstimated),
  };
}
