import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { durationMs, timestampMs } from '@bufbuild/protobuf/wkt';

/** All functions take and return milliseconds; times are milliseconds since 1970. */
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

export const msOf = (at: Timestamp | undefined): number | undefined => (at === undefined ? undefined : timestampMs(at));
export const spanOf = (duration: Duration | undefined): number | undefined =>
  duration === undefined ? undefined : durationMs(duration);

/** "3 s ago". A moment slightly in the future (clocks differ) is "now". */
export function ago(at: number, now: number): string {
  const passed = now - at;
  if (passed < 1.5 * second) return 'now';
  if (passed < minute) return `${Math.round(passed / second)} s ago`;
  if (passed < hour) return `${Math.round(passed / minute)} min ago`;
  if (passed < 2 * day) return `${Math.round(passed / hour)} h ago`;
  return `${Math.round(passed / day)} d ago`;
}

/** "1 h 5 min": at most two units, without the second one if it is zero. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / second));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

interface Fields {
  date: string;
  time: string;
  fraction: string;
}

/** In the zone of the user, or in UTC. Without Intl, whose first use takes 10 ms. */
function fieldsOf(at: number, zone: 'local' | 'utc'): Fields {
  const ahead = zone === 'utc' ? 0 : -new Date(at).getTimezoneOffset() * minute;
  const iso = new Date(at + ahead).toISOString();
  return { date: iso.slice(0, -14), time: iso.slice(-13, -5), fraction: iso.slice(-4, -1) };
}

/** "2026-11-21 11:42:05" in the user's time zone. */
function localMoment(at: number): string {
  const { date, time } = fieldsOf(at, 'local');
  return `${date} ${time}`;
}

/** "11:42:05.123" in the user's time zone. */
export function localClock(at: number): string {
  const { time, fraction } = fieldsOf(at, 'local');
  return `${time}.${fraction}`;
}

/** "today 11:42" or "tomorrow 11:42", for a time within a day; else with the date. */
export function upcomingTime(at: number, now: number): string {
  const { date, time } = fieldsOf(at, 'local');
  const clock = time.slice(0, 5);
  if (date === fieldsOf(now, 'local').date) return `today ${clock}`;
  return date === fieldsOf(now + day, 'local').date ? `tomorrow ${clock}` : `${date} ${clock}`;
}

/** "11:42" today, "yesterday 11:42", or with the date: a time of the past in the user's time zone. */
export function earlierTime(at: number, now: number): string {
  const { date, time } = fieldsOf(at, 'local');
  const clock = time.slice(0, 5);
  if (date === fieldsOf(now, 'local').date) return clock;
  return date === fieldsOf(now - day, 'local').date ? `yesterday ${clock}` : `${date} ${clock}`;
}

/** "11:42:05.123" in UTC. */
export function utcClock(at: number): string {
  const { time, fraction } = fieldsOf(at, 'utc');
  return `${time}.${fraction}`;
}

/** "2026-11-21 11:42:05.123 UTC". */
export function utcMoment(at: number): string {
  const { date, time, fraction } = fieldsOf(at, 'utc');
  return `${date} ${time}.${fraction} UTC`;
}

/** Both forms, for a tooltip. */
export const bothMoments = (at: number): string => `${localMoment(at)} local · ${utcMoment(at)}`;

/** "2026-11-21T11-42-05", UTC: the default version of a model. */
export function versionStamp(at: number): string {
  const { date, time } = fieldsOf(at, 'utc');
  return `${date}T${time.replaceAll(':', '-')}`;
}
