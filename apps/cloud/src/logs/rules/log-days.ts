const dayMs = 24 * 3_600_000;
/** Lines wait on machines that are offline; a device whose clock is off by more than a day has a wrong one. */
const pastDays = 29;
const futureDays = 1;

/** As a date of the database, for example 2026-11-23. */
export const dayOf = (ms: number): string => new Date(Math.floor(ms / dayMs) * dayMs).toISOString().slice(0, 10);

/**
 * The day whose partition holds a line: that of its own time. A repeated line then meets the first one, however late it comes.
 * Where that time cannot be right, or is as old as what is removed, the day of its arrival.
 */
export function partitionDay(timeMs: number, nowMs: number): { day: string; isOwn: boolean } {
  const days = Math.floor(timeMs / dayMs) - Math.floor(nowMs / dayMs);
  const isOwn = days >= -pastDays && days <= futureDays;
  return { day: dayOf(isOwn ? timeMs : nowMs), isOwn };
}

/** Days that lines of now can fall into. */
export const openDays = (nowMs: number): string[] =>
  Array.from({ length: pastDays + futureDays + 1 }, (_, n) => dayOf(nowMs + (n - pastDays) * dayMs));

/** The last day that is kept whole goes when its last line is `keptDays` old. */
export const isExpired = (day: string, keptDays: number, nowMs: number): boolean =>
  Date.parse(day) + (keptDays + 1) * dayMs <= nowMs;
