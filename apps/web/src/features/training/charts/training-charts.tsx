import { chartsOf, type Series } from '../../../entities/training-job/training-jobs.ts';
import { useEffect, useRef } from 'react';
import { percent } from '../../../ui/quantities.ts';
import { axisOf, colorOf, drawChart, showLast, uPlot } from '../../../ui/charts/look.ts';

/** Accuracy and loss over the epochs, side by side. */
export function TrainingCharts({ points }: { points: readonly object[] }) {
  const { shares, losses } = chartsOf(points as readonly Record<string, unknown>[]);
  const isAccuracy = shares.lines.some(({ name }) => name.includes('accuracy'));
  return (
    <div className="charts">
      {shares.lines.length > 0 && (
        <LineChart title={isAccuracy ? 'Accuracy by epoch' : 'Quality by epoch'} series={shares} isShare />
      )}
      {losses.lines.length > 0 && <LineChart title="Loss by epoch" series={losses} isShare={false} />}
    </div>
  );
}

interface LineChartProps {
  title: string;
  series: Series;
  /** Shares are drawn from 0 to 100 %. */
  isShare: boolean;
}
const heightPx = 220;
const lineColors = ['--accent', '--code-number', '--good', '--code-key', '--bad'];

interface ChartLines {
  names: readonly string[];
  isShare: boolean;
}

/** The appearance of the chart in the colors of the current theme. */
function chartOptions({ names, isShare }: ChartLines, width: number): uPlot.Options {
  const axis = axisOf(12);
  return {
    width,
    height: heightPx,
    cursor: { y: false, points: { size: 6 } },
    legend: { live: true },
    hooks: { setCursor: [(plot) => typeof plot.cursor.idx !== 'number' && showLast(plot)] },
    scales: { x: { time: false }, y: isShare ? { range: [0, 1] } : {} },
    axes: [
      { ...axis, size: 32, incrs: [1, 2, 5, 10, 20, 50, 100] },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => (isShare ? percent(tick, 0) : String(tick))) },
    ],
    series: [
      { label: 'epoch', value: (_: uPlot, value: number | null) => String(value ?? '–') },
      ...names.map((label, at) => ({
        label,
        stroke: colorOf(lineColors[at % lineColors.length] ?? '--accent'),
        width: 2,
        spanGaps: true,
        points: { show: true, size: 5 },
        value: (_: uPlot, value: number | null | undefined) =>
          value === null || value === undefined ? '–' : formatValue(value, isShare),
      })),
    ],
  };
}

const formatValue = (value: number, isShare: boolean): string => (isShare ? percent(value) : value.toFixed(3));

/** Lines over epochs. The table below it is for users who cannot see the chart. */
function LineChart({ title, series, isShare }: LineChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const names = series.lines.map(({ name }) => name).join('\n');

  useEffect(
    () =>
      drawChart({
        place: holder.current,
        plot: chart,
        heightPx,
        create: (place, before = [[]]) =>
          new uPlot(chartOptions({ names: names.split('\n'), isShare }, place.clientWidth), before, place),
      }),
    [names, isShare],
  );

  useEffect(() => {
    const plot = chart.current;
    if (plot === null) return;
    plot.setData([series.x, ...series.lines.map(({ values }) => values)]);
    showLast(plot);
  }, [series, names]);

  return (
    <figure className="stack-tight">
      <figcaption className="small soft">{title}</figcaption>
      <div ref={holder} className="chart" role="img" aria-label={`${title}: ${summary(series, isShare)}`} />
    </figure>
  );
}

const summary = (series: Series, isShare: boolean): string =>
  series.lines
    .map(({ name, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${name} ${last === null || last === undefined ? 'unknown' : formatValue(last, isShare)}`;
    })
    .join(', ');
