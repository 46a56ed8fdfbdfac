import type { Gap } from './log-rows.ts';
import { localClock, utcClock } from './times.ts';

/** In which zone LOGS shows times: that of the reader, or UTC. */
export interface LogZone {
  isUtc: boolean;
  /** "11:42:05.123". */
  clock: (at: number) => string;
  /** "Saturday, 28 November 2026". */
  date: (at: number) => string;
  /** The day of a moment, from its start to that of the next one. */
  dayOf: (at: number) => Gap;
  /** What the zone is ahead of UTC, ms. */
  offsetAt: (at: number) => number;
  /** For the axis: "11:42", at the start of a day "28 Nov". */
  tick: (at: number) => string;
  /** Text of a field of type datetime-local. */
  toField: (at: number) => string;
  fromField: (text: string) => number | undefined;
}

const dayMs = 86_400_000;
const long: Intl.DateTimeFormatOptions = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' };
const short: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };

function zone(isUtc: boolean): LogZone {
  const at = isUtc ? { timeZone: 'UTC' } : {};
  const dates = new Intl.DateTimeFormat('en-GB', { ...long, ...at });
  const days = new Intl.DateTimeFormat('en-GB', { ...short, ...at });
  const clock = isUtc ? utcClock : localClock;
  const offsetAt = (ms: number): number => (isUtc ? 0 : -new Date(ms).getTimezoneOffset() * 60_000);
  const toField = (ms: number): string => new Date(ms + offsetAt(ms)).toISOString().slice(0, 19);
  return {
    isUtc,
    clock,
    date: (ms) => dates.format(ms),
    dayOf: (ms) => {
      if (isUtc) return { from: Math.floor(ms / dayMs) * dayMs, until: (Math.floor(ms / dayMs) + 1) * dayMs };
      const date = new Date(ms);
      const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
      return { from: new Date(year, month, day).getTime(), until: new Date(year, month, day + 1).getTime() };
    },
    offsetAt,
    tick: (ms) => {
      const time = clock(ms);
      if (time.startsWith('00:00:00')) return days.format(ms);
      return time.slice(6, 8) === '00' ? time.slice(0, 5) : time.slice(0, 8);
    },
    toField,
    fromField: (text) => {
      const ms = Date.parse(isUtc ? `${text}Z` : text);
      return Number.isNaN(ms) ? undefined : ms;
    },
  };
}

export const localZone = zone(false);
export const utcZone = zone(true);
