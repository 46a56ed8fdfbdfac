import { useEffect, useRef } from 'react';
import { axisOf, colorOf, drawChart, isAlone, showLast, uPlot } from '../../ui/charts/look.ts';

/** Values over the last day; null: not measured. Times in seconds since 1970. */
export interface ChartData {
  readonly times: readonly number[];
  readonly series: readonly {
    readonly name: string;
    readonly color: string;
    readonly values: readonly (number | null)[];
    /** What the legend says where the drawing is higher: it stands behind another. */
    readonly own?: readonly number[];
  }[];
}

interface FleetChartProps {
  data: ChartData;
  /** First and last second of the axis. */
  from: number;
  to: number;
  kind: 'line' | 'bars';
  /** What screen readers get instead. */
  summary: string;
}

const heightPx = 132;

function optionsOf({ data, from, to, kind }: Omit<FleetChartProps, 'summary'>, width: number): uPlot.Options {
  const axis = axisOf(11);
  const bars = uPlot.paths.bars?.({ size: [0.8, 24], align: 1 });
  return {
    width,
    height: heightPx,
    padding: [8, 18, 0, 0],
    hooks: { setCursor: [(plot) => typeof plot.cursor.idx !== 'number' && showLast(plot)] },
    cursor: { y: false, points: { size: 5 } },
    legend: { live: true },
    scales: {
      x: { time: true, range: [from, to] },
      // Whole numbers, and a line of zeros is at the bottom.
      y: { range: (_, __, max) => [0, Math.max(2, Math.ceil((max ?? 0) * 1.1))] },
    },
    axes: [
      { ...axis, size: 24, values: (_, ticks) => ticks.map(clock), space: 60 },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000], space: 30 },
    ],
    series: [
      { label: 'at', value: (_, value) => (typeof value === 'number' ? clock(value) : '–') },
      ...data.series.map(({ name, color, values, own = values }) => ({
        label: name,
        value: (_: uPlot, __: unknown, ___: number, place: number | null) => String(own[place ?? -1] ?? '–'),
        stroke: colorOf(color),
        width: kind === 'line' ? 2 : 0,
        fill: kind === 'line' ? `${colorOf(color)}22` : colorOf(color),
        spanGaps: false,
        points: { show: kind === 'line' && isAlone, size: 5 },
        ...(kind === 'bars' && bars ? { paths: bars } : {}),
      })),
    ],
  };
}

const clock = (seconds: number): string =>
  new Date(seconds * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

/** A chart of the last day with axes, and the values under the pointer. */
export function FleetChart({ data, from, to, kind, summary }: FleetChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  useEffect(
    () =>
      drawChart({
        place: holder.current,
        plot: chart,
        heightPx,
        create: (place) => {
          const values = [[...data.times], ...data.series.map((one) => [...one.values])] as uPlot.AlignedData;
          const plot = new uPlot(optionsOf({ data, from, to, kind }, place.clientWidth), values, place);
          showLast(plot);
          return plot;
        },
      }),
    [data, from, to, kind],
  );
  return <div ref={holder} className="fleet-chart" role="img" aria-label={summary} />;
}
