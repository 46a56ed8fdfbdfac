// Days of tables that have one partition for each day.
const dayMs = 24 * 3_600_000;

/** A date in PostgreSQL's format, for example 2026-11-23. @param ms - since 1970. */
export const dayOf = (ms: number): string => new Date(Math.floor(ms / dayMs) * dayMs).toISOString().slice(0, 10);

export const dayAfter = (day: string): string => dayOf(Date.parse(day) + dayMs);

/** A day expires when its last row is `keptDays` old. */
export const isExpired = (day: string, keptDays: number, nowMs: number): boolean =>
  Date.parse(day) + (keptDays + 1) * dayMs <= nowMs;
