import { logLevels, type LogLevel } from '@platform/contract/logs/levels';

export interface Bar {
  start: number;
  counts: Readonly<Record<LogLevel, number>>;
}
export interface RulerSpan {
  from: number;
  until: number;
}

/** Errors stand on the axis, so that they can be compared. */
export const stacked: readonly LogLevel[] = logLevels;

/** A round number that is at least the largest stack. */
export function topOf(bars: readonly Bar[], shown: readonly LogLevel[]): number {
  const largest = Math.max(1, ...bars.map(({ counts }) => shown.reduce((sum, level) => sum + counts[level], 0)));
  const scale = 10 ** Math.floor(Math.log10(largest));
  return (([1, 2, 5].find((step) => step * scale >= largest) ?? 10) * scale) | 0;
}

/** A path of rectangles for each level, in a field of `width` × `height`; a count above 0 is at least one unit high. */
export function rulerPaths(
  bars: readonly Bar[],
  {
    span: { from, until },
    intervalMs,
    shown,
    width,
    height,
  }: { span: RulerSpan; intervalMs: number; shown: readonly LogLevel[]; width: number; height: number },
): Record<LogLevel, string> {
  const paths: Record<LogLevel, string> = { error: '', warn: '', info: '', debug: '' };
  const top = topOf(bars, shown);
  const x = (at: number): number => ((Math.min(Math.max(at, from), until) - from) / (until - from)) * width;
  for (const { start, counts } of bars) {
    const [left, right] = [x(start), x(start + intervalMs)];
    let base = height;
    for (const level of stacked) {
      if (counts[level] === 0 || !shown.includes(level)) continue;
      const tall = Math.min(base, Math.max(1, (counts[level] / top) * height));
      const wide = Math.max(1, right - left - 1);
      paths[level] +=
        `M${left.toFixed(1)} ${base.toFixed(1)}v${(-tall).toFixed(1)}h${wide.toFixed(1)}v${tall.toFixed(1)}z`;
      base -= tall;
    }
  }
  return paths;
}

const minute = 60_000;
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 1_000),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((n) => n * minute),
  ...[1, 2, 7, 14, 30].map((n) => n * 1_440 * minute),
];

/**
 * Moments for the axis, at most `most`, at round times of the zone.
 *
 * @param offsetAt - what the zone is ahead of UTC at a moment.
 */
export function rulerTicks({ from, until }: RulerSpan, most: number, offsetAt: (at: number) => number): number[] {
  const step = steps.find((length) => (until - from) / length <= most) ?? 60 * 1_440 * minute;
  const ticks: number[] = [];
  const offset = offsetAt(from);
  for (let local = Math.ceil((from + offset) / step) * step; ; local += step) {
    const at = local - offsetAt(local - offset);
    if (at >= until || ticks.length > most) return ticks;
    if (at >= from) ticks.push(at);
  }
}

/** Which time a drag over the field chooses; undefined: it was a click. */
export function draggedSpan(
  span: RulerSpan,
  [a, b]: readonly [number, number],
  width: number,
): { from: number; until: number } | undefined {
  if (width <= 0 || Math.abs(a - b) < 4) return undefined;
  const at = (x: number): number =>
    Math.round(span.from + (Math.min(Math.max(x, 0), width) / width) * (span.until - span.from));
  const [from, until] = [at(Math.min(a, b)), at(Math.max(a, b))];
  return until > from ? { from, until } : undefined;
}
