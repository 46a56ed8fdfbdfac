// Samples of what a machine uses: which of a batch are new, and their averages for an answer.
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
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
  lastSequence: number;
  /** How many are stored today. */
  dayCount: number;
}

/** The samples of a batch that are not stored yet, with their times in seconds since 1970. Undefined: none. */
export function newSamples(
  batch: SampleBatch,
  state: SampleState,
): { batch: SampleBatch; firstTime: number; lastTime: number; lastSequence: number } | undefined {
  const { spoolId } = batch;
  const [first, start] = [Number(batch.firstSequence), Number(batch.start)];
  if (spoolId === '' || spoolId.length > longestId || spoolId.includes('\0')) return undefined;
  if (!Number.isSafeInteger(first) || first < 1 || batch.samples.length > mostPerBatch) return undefined;
  const known = spoolId === state.spoolId ? Math.max(0, state.lastSequence - first + 1) : 0;
  const samples = batch.samples.slice(known).slice(0, Math.max(0, mostSamplesPerDay - state.dayCount));
  if (samples.length === 0) return undefined;
  const times = samples.map(({ seconds }) => start + seconds);
  const [firstTime, lastTime] = [Math.min(...times), Math.max(...times)];
  if (lastTime > latest) return undefined;
  const message = create(SampleBatchSchema, {
    start: BigInt(firstTime),
    samples: samples.map((sample, i) => ({ ...sample, seconds: times[i]! - firstTime })),
  });
  return { batch: message, firstTime, lastTime, lastSequence: first + batch.samples.length - 1 };
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
