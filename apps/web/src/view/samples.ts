import type { MachineSample } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bytes } from './quantities.ts';
import { msOf } from './times.ts';

/** A point of a chart: share of the time and of the height, from 0 to 1. */
export interface ChartPoint {
  x: number;
  y: number;
}

interface SampleLine {
  /** Empty: the chart has one line. */
  name: string;
  /** Runs of points without a gap between them. */
  runs: readonly (readonly ChartPoint[])[];
  /** The newest value, with its unit. */
  last: string;
}

export interface SampleChart {
  title: string;
  lines: readonly SampleLine[];
  /** Value at the top of the drawing, with its unit. */
  top: string;
}

type Read = (sample: MachineSample) => number | undefined;
interface ChartKind {
  title: string;
  lines: readonly (readonly [name: string, read: Read])[];
  /** Undefined: the largest value. */
  top?: number;
  text: (value: number) => string;
}

const percent = (value: number): string => `${value.toFixed(1)} %`;
const kinds: readonly ChartKind[] = [
  { title: 'Processor', lines: [['', (one) => one.processorPercent]], top: 100, text: percent },
  { title: 'Memory', lines: [['', (one) => one.memoryPercent]], top: 100, text: percent },
  { title: 'Disk', lines: [['', (one) => one.diskPercent]], top: 100, text: percent },
  {
    title: 'Temperature',
    lines: [['', (one) => one.temperatureCelsius]],
    text: (value) => `${value.toFixed(1)} °C`,
  },
  {
    title: 'Network',
    lines: [
      ['received', (one) => one.receivedBytesPerSecond],
      ['sent', (one) => one.sentBytesPerSecond],
    ],
    text: (value) => `${bytes(Math.round(value))}/s`,
  },
];

/** Samples further apart are not connected: in between the machine was off, or its agent was. */
const gapOf = (intervalMs: number | undefined): number => 2.5 * (intervalMs ?? 60_000);

/** One small chart for each value that the machine reports. */
export function sampleCharts(
  samples: readonly MachineSample[],
  { from, until, intervalMs }: { from: number; until: number; intervalMs: number | undefined },
): SampleChart[] {
  return kinds.flatMap(({ title, lines, top, text }) => {
    const values = lines.map(([name, read]) => ({ name, points: pointsOf(samples, read) }));
    const known = values.filter(({ points }) => points.length > 0);
    if (known.length === 0) return [];
    const highest = top ?? Math.max(1, ...known.flatMap(({ points }) => points.map(({ value }) => value)));
    const place = ({ time, value }: TimedValue): ChartPoint => ({
      x: (time - from) / (until - from),
      y: Math.min(1, Math.max(0, value / highest)),
    });
    return [
      {
        title,
        top: text(highest),
        lines: known.map(({ name, points }) => ({
          name,
          runs: runsOf(points, gapOf(intervalMs)).map((run) => run.map(place)),
          last: text(points.at(-1)?.value ?? 0),
        })),
      },
    ];
  });
}

interface TimedValue {
  time: number;
  value: number;
}

function pointsOf(samples: readonly MachineSample[], read: Read): TimedValue[] {
  return samples.flatMap((sample) => {
    const [time, value] = [msOf(sample.time), read(sample)];
    return time === undefined || value === undefined ? [] : [{ time, value }];
  });
}

function runsOf(points: readonly TimedValue[], gapMs: number): TimedValue[][] {
  const runs: TimedValue[][] = [];
  for (const point of points) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run && before && point.time - before.time <= gapMs) run.push(point);
    else runs.push([point]);
  }
  return runs;
}
