import { zoneClock } from '@platform/contract/config/zone-clock';
import type { Gap } from './log-rows.ts';
import { utcClock } from '../../ui/times.ts';

/** In which zone LOGS shows times: that of the reader, that of the machine, or UTC. */
export interface LogZone {
  is: 'mine' | 'machine' | 'utc';
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

/** What differs between zones. */
interface Rules {
  is: LogZone['is'];
  timeZone?: string;
  offsetAt: LogZone['offsetAt'];
  /** The first moment of the day `days` after that of `at`. */
  dayStart: (at: number, days: number) => number;
  fromField: LogZone['fromField'];
}

const parsed = (text: string): number | undefined => {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
};

/** A format is made when a date is first shown: to make one takes longer than to draw a line. See docs/decisions/0168-start-in-tasks.md. */
function formatOf(form: Intl.DateTimeFormatOptions): (ms: number) => string {
  let made: Intl.DateTimeFormat | undefined;
  return (ms) => (made ??= new Intl.DateTimeFormat('en-GB', form)).format(ms);
}

function zone({ is, timeZone, offsetAt, dayStart, fromField }: Rules): LogZone {
  const at = timeZone === undefined ? {} : { timeZone };
  const date = formatOf({ ...long, ...at });
  const day = formatOf({ ...short, ...at });
  const clock = (ms: number): string => utcClock(ms + offsetAt(ms));
  return {
    is,
    clock,
    date,
    dayOf: (ms) => ({ from: dayStart(ms, 0), until: dayStart(ms, 1) }),
    offsetAt,
    tick: (ms) => {
      const time = clock(ms);
      if (time.startsWith('00:00:00')) return day(ms);
      return time.slice(6, 8) === '00' ? time.slice(0, 5) : time.slice(0, 8);
    },
    toField: (ms) => new Date(ms + offsetAt(ms)).toISOString().slice(0, 19),
    fromField,
  };
}

export const localZone = zone({
  is: 'mine',
  offsetAt: (ms) => -new Date(ms).getTimezoneOffset() * 60_000,
  dayStart: (ms, days) => {
    const date = new Date(ms);
    return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime();
  },
  fromField: parsed,
});

export const utcZone = zone({
  is: 'utc',
  timeZone: 'UTC',
  offsetAt: () => 0,
  dayStart: (ms, days) => (Math.floor(ms / dayMs) + days) * dayMs,
  fromField: (text) => parsed(`${text}Z`),
});

const zones = new Map<string, LogZone | undefined>();

/** The zone of a machine; undefined: this browser does not know it. */
export function machineZone(timeZone: string): LogZone | undefined {
  if (!zones.has(timeZone)) zones.set(timeZone, readZone(timeZone));
  return zones.get(timeZone);
}

function readZone(timeZone: string): LogZone | undefined {
  try {
    const { localAt, firstAt } = zoneClock(timeZone);
    return zone({
      is: 'machine',
      timeZone,
      offsetAt: (ms) => localAt(ms) - ms,
      dayStart: (ms, days) => firstAt((Math.floor(localAt(ms) / dayMs) + days) * dayMs),
      fromField: (text) => {
        const local = parsed(`${text}Z`);
        return local === undefined ? undefined : firstAt(local);
      },
    });
  } catch {
    return undefined; // a RangeError of Intl
  }
}
