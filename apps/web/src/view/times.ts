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
const formatterFor = (timeZone?: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    ...(timeZone === undefined ? {} : { timeZone }),
  });
const localFormatter = formatterFor();
const utcFormatter = formatterFor('UTC');

function fieldsOf(at: number, formatter: Intl.DateTimeFormat): Fields {
  const found: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatter.formatToParts(at)) found[type] = value;
  return {
    date: `${found.year ?? ''}-${found.month ?? ''}-${found.day ?? ''}`,
    time: `${found.hour ?? ''}:${found.minute ?? ''}:${found.second ?? ''}`,
    fraction: found.fractionalSecond ?? '',
  };
}

/** "2026-11-21 11:42:05" in the user's time zone. */
function localMoment(at: number): string {
  const { date, time } = fieldsOf(at, localFormatter);
  return `${date} ${time}`;
}

/** "11:42:05.123" in the user's time zone. */
export function localClock(at: number): string {
  const { time, fraction } = fieldsOf(at, localFormatter);
  return `${time}.${fraction}`;
}

/** "11:42:05.123" in UTC. */
export function utcClock(at: number): string {
  const { time, fraction } = fieldsOf(at, utcFormatter);
  return `${time}.${fraction}`;
}

/** "2026-11-21 11:42:05.123 UTC". */
export function utcMoment(at: number): string {
  const { date, time, fraction } = fieldsOf(at, utcFormatter);
  return `${date} ${time}.${fraction} UTC`;
}

/** Both forms, for a tooltip. */
export const bothMoments = (at: number): string => `${localMoment(at)} local · ${utcMoment(at)}`;

/** "2026-11-21T11-42-05", UTC: the default version of a model. */
export function versionStamp(at: number): string {
  const { date, time } = fieldsOf(at, utcFormatter);
  return `${date}T${time.replaceAll(':', '-')}`;
}
