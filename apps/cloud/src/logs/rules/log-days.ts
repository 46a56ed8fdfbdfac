import { dayOf } from '../../database/rules/days.ts';

const dayMs = 24 * 3_600_000;
/** Lines may wait a long time on offline machines. A line from more than a day ahead comes from a wrong clock. */
const pastDays = 29;
const futureDays = 1;

/**
 * The day of the partition that holds a line. It is the day of the line's own time, so that a late repetition meets the
 * first line. If that time is implausible or as old as expired lines, it is the day of arrival.
 */
export function partitionDay(timeMs: number, nowMs: number): { day: string; isOwn: boolean } {
  const days = Math.floor(timeMs / dayMs) - Math.floor(nowMs / dayMs);
  const isOwn = days >= -pastDays && days <= futureDays;
  return { day: dayOf(isOwn ? timeMs : nowMs), isOwn };
}

/** Days that current lines may belong to. */
export const openDays = (nowMs: number): string[] =>
  Array.from({ length: pastDays + futureDays + 1 }, (_, n) => dayOf(nowMs + (n - pastDays) * dayMs));
