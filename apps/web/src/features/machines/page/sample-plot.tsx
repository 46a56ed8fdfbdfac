import { useEffect, useRef } from 'react';
import { axisOf, colorOf, drawChart, isAlone, uPlot } from '../../../ui/charts/look.ts';
import type { Tone } from '../../../ui/status-label.ts';
import { localClock } from '../../../ui/times.ts';
import { chartSummary, type SampleChart } from './sample-lines.ts';
import type { SampleSpan } from './story-search.ts';
import { type BandKind, type EventMarks, marksText } from './timeline.ts';
import type { EventKindName } from './timeline-kinds.ts';

interface PlotProps {
  chart: SampleChart;
  /** Seconds since 1970. */
  times: readonly number[];
  span: SampleSpan;
  marked: EventMarks;
  /** The place of the times that the pointer names. */
  onPoint: (place: number | undefined) => void;
}

const heightPx = 128;
const lineColors = ['--accent', '--code-number'];
const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** "14:00", and the day where a tick is midnight or ticks are days apart. */
function tickText(second: number): string {
  const date = new Date(second * 1000);
  return date.getHours() === 0 && date.getMinutes() === 0
    ? dayFormat.format(date)
    : localClock(second * 1000).slice(0, 5);
}

/** @param latest - what is drawn now */
function plotOptions(latest: { readonly current: PlotProps }, width: number): uPlot.Options {
  const { chart } = latest.current;
  const axis = axisOf(11);
  return {
    width,
    height: heightPx,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    // One line through all charts of the page.
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false }, sync: { key: 'story' } },
    hooks: {
      setCursor: [(plot) => latest.current.onPoint(plot.cursor.idx ?? undefined)],
      drawAxes: [(plot) => drawMarks(plot, latest.current)],
    },
    scales: {
      x: { time: true, range: () => [latest.current.span.from / 1000, latest.current.span.until / 1000] },
      y: { range: () => [...latest.current.chart.scale] },
    },
    axes: [
      { ...axis, size: 24, space: 56, values: (_, ticks) => ticks.map(tickText) },
      { ...axis, size: 36, space: 36 },
    ],
    series: [
      {},
      ...chart.lines.map((_, place) => ({
        stroke: colorOf(lineColors[place] ?? '--accent'),
        width: 1.5,
        ...(place > 0 && { dash: [4, 2] }),
        points: { show: isAlone, size: 4 },
      })),
    ],
  };
}

const markColors: Readonly<Partial<Record<EventKindName, string>>> = {
  update: '--accent',
  revision: '--accent',
};
const toneColors: Readonly<Partial<Record<Tone, string>>> = { bad: '--bad', warn: '--warn' };

/** As in the key below the charts: a machine that is offline may measure, so its lines stay visible. */
const bandColors: Readonly<Record<BandKind, readonly [color: string, opacity: number]>> = {
  offline: ['--bad', 0.18],
  unknown: ['--warn', 0.18],
  unmeasured: ['--surface-3', 1],
};

/** Bands where something is missing, and a dashed line for each event, under the lines of the values. */
function drawMarks(plot: uPlot, { marked, span }: PlotProps): void {
  const { ctx, bbox } = plot;
  const [from, until] = [span.from / 1000, span.until / 1000];
  const x = (ms: number): number => plot.valToPos(Math.min(until, Math.max(from, ms / 1000)), 'x', true);
  const isSeen = (start: number, end: number): boolean => end >= span.from && start <= span.until;
  ctx.save();
  for (const { from: start, until: end, kind } of marked.bands) {
    if (!isSeen(start, end)) continue;
    const [color, opacity] = bandColors[kind];
    ctx.fillStyle = colorOf(color);
    ctx.globalAlpha = opacity;
    ctx.fillRect(x(start), bbox.top, Math.max(1, x(end) - x(start)), bbox.height);
  }
  ctx.globalAlpha = 1;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  for (const { at, kind, tone } of marked.marks) {
    if (!isSeen(at, at)) continue;
    const color = colorOf(toneColors[tone] ?? markColors[kind] ?? '--text-soft');
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.moveTo(x(at), bbox.top);
    ctx.lineTo(x(at), bbox.top + bbox.height);
    ctx.stroke();
    drawHead(ctx, { x: x(at), y: bbox.top, size: 3 * devicePixelRatio, kind });
  }
  ctx.restore();
}

/** As in the key below the charts: a square for conditions, a triangle for updates, a disc for the rest. */
function drawHead(
  ctx: CanvasRenderingContext2D,
  head: { x: number; y: number; size: number; kind: EventKindName },
): void {
  const { x, y, size, kind } = head;
  ctx.beginPath();
  if (kind === 'condition') ctx.rect(x - size, y - size, 2 * size, 2 * size);
  else if (kind === 'update') {
    ctx.moveTo(x, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.lineTo(x - size, y + size);
  } else ctx.arc(x, y, size, 0, 2 * Math.PI);
  ctx.fill();
}

/** The drawing of a chart, with axes. One line follows the pointer through all charts of the page. */
export function SamplePlot({ chart, times, span, marked, onPoint }: PlotProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const latest = useRef<PlotProps>({ chart, times, span, marked, onPoint });

  useEffect(
    () =>
      drawChart({
        place: holder.current,
        plot,
        heightPx,
        create: (place) => new uPlot(plotOptions(latest, place.clientWidth), dataOf(latest.current), place),
      }),
    [],
  );

  useEffect(() => {
    latest.current = { chart, times, span, marked, onPoint };
    plot.current?.setData(dataOf(latest.current));
  }, [chart, times, span, marked, onPoint]);

  return (
    <div
      ref={holder}
      className="story-plot"
      role="img"
      aria-label={[chartSummary(chart, span.phrase), marksText(marked, span)].filter(Boolean).join('; marked: ')}
    />
  );
}

const dataOf = ({ chart, times }: PlotProps): uPlot.AlignedData => [
  [...times],
  ...chart.lines.map(({ values }) => [...values]),
];
