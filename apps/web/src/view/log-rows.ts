import type { PlacedLine } from './log-window.ts';

/** Times without measurements of the machine: it was off, or its agent did not run. */
export interface Gap {
  from: number;
  until: number;
}
export type LogRow =
  | { is: 'line'; key: string; line: PlacedLine }
  | { is: 'date'; key: string; at: number }
  | { is: 'start'; key: string; at: number; boot: string }
  | { is: 'gap'; key: string; gap: Gap };

/** The first moment of the day and of the next one. */
export type DayOf = (at: number) => Gap;

/**
 * The rows of the list: between lines of two days the date, between those of two starts of the agent its start, and the
 * gaps. Only lines with an ID of their start tell one.
 */
export function logRows(
  lines: readonly PlacedLine[],
  { dayOf, gaps, showsStarts }: { dayOf: DayOf; gaps: readonly Gap[]; showsStarts: boolean },
): LogRow[] {
  const rows: LogRow[] = [];
  let day: Gap | undefined;
  let boot = '';
  let nextGap = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (const line of lines) {
    while ((gaps[nextGap]?.from ?? Number.POSITIVE_INFINITY) < last) nextGap += 1;
    const gap = gaps[nextGap];
    if (rows.length > 0 && gap && gap.from >= last && gap.until <= line.time) {
      rows.push({ is: 'gap', key: `gap ${gap.from}`, gap });
      nextGap += 1;
    }
    if (!day || line.time < day.from || line.time >= day.until) {
      day = dayOf(line.time);
      rows.push({ is: 'date', key: `date ${day.from} ${line.key}`, at: line.time });
    }
    if (showsStarts && boot !== '' && line.boot !== '' && line.boot !== boot)
      rows.push({ is: 'start', key: `start ${line.key}`, at: line.time, boot: line.boot });
    if (line.boot !== '') boot = line.boot;
    rows.push({ is: 'line', key: line.key, line });
    last = line.time;
  }
  return rows;
}

/** Gaps between samples, which machines take once a minute. `intervalMs`: each stands for so long. */
export function gapsOf(times: readonly number[], intervalMs = 60_000): Gap[] {
  const longest = Math.max(5 * 60_000, 2.5 * intervalMs);
  return times.slice(1).flatMap((until, index) => {
    const from = times[index] ?? until;
    return until - from > longest ? [{ from: from + intervalMs, until }] : [];
  });
}
