import type { PlacedLine } from './log-window.ts';

/** Times without measurements of the machine: it was off, or its agent did not run. */
export interface Gap {
  from: number;
  until: number;
}
export type PartGaps = ReadonlyMap<string, readonly Gap[]>;
export type LogRow =
  | { is: 'line'; key: string; line: PlacedLine }
  | { is: 'date'; key: string; at: number }
  | { is: 'start'; key: string; at: number; boot: string; partId: string }
  | { is: 'gap'; key: string; gap: Gap; partId: string };

/** The first moment of the day and of the next one. */
export type DayOf = (at: number) => Gap;

/**
 * The rows of the list: between lines of two days the date, between those of two starts of an agent its start, and the
 * gaps of each machine, before its next line. Only lines with an ID of their start tell one.
 */
export function logRows(
  lines: readonly PlacedLine[],
  { dayOf, gaps, showsStarts }: { dayOf: DayOf; gaps: PartGaps; showsStarts: boolean },
): LogRow[] {
  const rows: LogRow[] = [];
  const parts = new Map<string, PartState>();
  let day: Gap | undefined;
  for (const line of lines) {
    const { partId } = line;
    const before = parts.get(partId);
    const part = before ?? { boot: '', nextGap: 0, last: Number.NEGATIVE_INFINITY };
    if (!before) parts.set(partId, part);
    const gap = gapBefore(line.time, part, gaps.get(partId) ?? []);
    if (before && gap) rows.push({ is: 'gap', key: `gap ${gap.from} ${partId}`, gap, partId });
    if (!day || line.time < day.from || line.time >= day.until) {
      day = dayOf(line.time);
      rows.push({ is: 'date', key: `date ${day.from} ${line.key}`, at: line.time });
    }
    if (showsStarts && part.boot !== '' && line.boot !== '' && line.boot !== part.boot)
      rows.push({ is: 'start', key: `start ${line.key}`, at: line.time, boot: line.boot, partId });
    if (line.boot !== '') part.boot = line.boot;
    rows.push({ is: 'line', key: line.key, line });
    part.last = line.time;
  }
  return rows;
}

/** What the lines before say of a machine. */
interface PartState {
  boot: string;
  nextGap: number;
  last: number;
}

/** The next gap between the last line of a machine and this moment. */
function gapBefore(time: number, part: PartState, gaps: readonly Gap[]): Gap | undefined {
  while ((gaps[part.nextGap]?.from ?? Number.POSITIVE_INFINITY) < part.last) part.nextGap += 1;
  const gap = gaps[part.nextGap];
  if (!gap || gap.until > time) return undefined;
  part.nextGap += 1;
  return gap;
}

/** Gaps between samples, which machines take once a minute. `intervalMs`: each stands for so long. */
export function gapsOf(times: readonly number[], intervalMs = 60_000): Gap[] {
  const longest = Math.max(5 * 60_000, 2.5 * intervalMs);
  return times.slice(1).flatMap((until, index) => {
    const from = times[index] ?? until;
    return until - from > longest ? [{ from: from + intervalMs, until }] : [];
  });
}
