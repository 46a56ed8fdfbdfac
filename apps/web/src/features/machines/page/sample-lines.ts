// What a machine used, as lines of charts: one x for all, and nothing where nothing was measured.
import type { MachineSample } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bytes } from '../../../ui/quantities.ts';
import { msOf } from '../../../ui/times.ts';

export type Value = number | null;

export interface SampleLine {
  /** Empty: the chart has one line. */
  readonly name: string;
  /** As many as the times. */
  readonly values: readonly Value[];
}

export interface SampleChart {
  readonly key: SampleKey;
  readonly title: string;
  /** The unit of the axis. */
  readonly unit: string;
  /** Bytes a second in the unit; undefined: it is another one. */
  readonly size?: number;
  readonly lines: readonly SampleLine[];
  /** Values at the bottom and the top of the drawing. */
  readonly scale: readonly [number, number];
}

export interface SampleLines {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly charts: readonly SampleChart[];
  /** Time of the newest sample, ms since 1970; undefined: there is none. */
  readonly newest: number | undefined;
}

export type SampleKey = 'processor' | 'memory' | 'disk' | 'temperature' | 'network';
type Read = (sample: MachineSample) => number | undefined;

interface SampleKind {
  key: SampleKey;
  title: string;
  lines: readonly (readonly [name: string, read: Read])[];
}

const kinds: readonly SampleKind[] = [
  { key: 'processor', title: 'Processor', lines: [['', (one) => one.processorPercent]] },
  { key: 'memory', title: 'Memory', lines: [['', (one) => one.memoryPercent]] },
  { key: 'disk', title: 'Disk', lines: [['', (one) => one.diskPercent]] },
  { key: 'temperature', title: 'Temperature', lines: [['', (one) => one.temperatureCelsius]] },
  {
    key: 'network',
    title: 'Network',
    lines: [
      ['in', (one) => one.receivedBytesPerSecond],
      ['out', (one) => one.sentBytesPerSecond],
    ],
  },
];

/** Samples further apart are not connected: in between the machine was off, or its agent was. */
const gapMs = (intervalMs: number | undefined): number => 2.5 * (intervalMs ?? 60_000);

/** @param intervalMs - over which the server averaged; undefined: single samples. */
export function sampleLines(samples: readonly MachineSample[], intervalMs: number | undefined): SampleLines {
  const timed = withGaps(
    samples.flatMap((sample) => {
      const ms = msOf(sample.time);
      return ms === undefined ? [] : [{ ms, sample }];
    }),
    gapMs(intervalMs),
  );
  return {
    times: timed.map(({ ms }) => ms / 1000),
    charts: kinds.map((kind) => chartOf(kind, timed)),
    newest: timed.at(-1)?.ms,
  };
}

interface Timed {
  ms: number;
  /** Undefined: the middle of a time without samples. */
  sample: MachineSample | undefined;
}

function withGaps(samples: readonly Timed[], gap: number): Timed[] {
  const points: Timed[] = [];
  for (const one of samples) {
    const before = points.at(-1);
    if (before && one.ms - before.ms > gap) points.push({ ms: (one.ms + before.ms) / 2, sample: undefined });
    points.push(one);
  }
  return points;
}

function chartOf({ key, title, lines }: SampleKind, timed: readonly Timed[]): SampleChart {
  const read = lines.map(([name, of]) => ({ name, values: timed.map(({ sample }) => (sample && of(sample)) ?? null) }));
  const known = read.flatMap(({ values }) => values.filter((value) => value !== null));
  const [highest, lowest] = [
    known.reduce((a, b) => Math.max(a, b), -Infinity),
    known.reduce((a, b) => Math.min(a, b), Infinity),
  ];
  if (key === 'temperature') return { key, title, unit: '°C', lines: read, scale: temperatureScale(lowest, highest) };
  if (key !== 'network') return { key, title, unit: '%', lines: read, scale: [0, 100] };
  const { unit, size } = byteUnit(highest);
  return {
    key,
    title,
    unit,
    size,
    lines: read.map(({ name, values }) => ({ name, values: values.map((value) => value && value / size) })),
    scale: [0, roundUp(Math.max(1, highest / size))],
  };
}

function temperatureScale(lowest: number, highest: number): [number, number] {
  if (highest === -Infinity) return [0, 100];
  const from = Math.floor(lowest / 10) * 10;
  return [from, Math.max(from + 20, Math.ceil(highest / 10) * 10)];
}

const byteUnits = [
  { unit: 'GB/s', size: 1e9 },
  { unit: 'MB/s', size: 1e6 },
  { unit: 'kB/s', size: 1e3 },
];
const byteUnit = (highest: number) => byteUnits.find(({ size }) => highest >= size) ?? { unit: 'B/s', size: 1 };

/** The next of 1, 2, 5, 10, 20 … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/** "61.0 %"; "–" where nothing was measured. */
const valueText = ({ unit, size }: SampleChart, value: Value | undefined): string => {
  if (value === null || value === undefined) return '–';
  return size === undefined ? `${value.toFixed(1)} ${unit}` : `${bytes(Math.round(value * size))}/s`;
};

/** The values of one time: "in 1.2 MB/s, out 340 kB/s". */
export const valuesText = (chart: SampleChart, place: number): string =>
  chart.lines.map(({ name, values }) => [name, valueText(chart, values[place])].filter(Boolean).join(' ')).join(', ');

/** Where the newest value of a chart is; -1: it has none. */
export const newestPlace = ({ lines }: SampleChart): number =>
  Math.max(...lines.map(({ values }) => values.findLastIndex((value) => value !== null)));

/** For users who do not see the drawing. */
export function chartSummary(chart: SampleChart, phrase: string): string {
  const place = newestPlace(chart);
  if (place === -1) return `${chart.title}: nothing was measured in ${phrase}`;
  const ranges = chart.lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return `${name} from ${valueText(chart, low)} to ${valueText(chart, high)}`.trim();
  });
  return `${chart.title} in ${phrase}: newest ${valuesText(chart, place)}; ${ranges.join(', ')}`;
}
