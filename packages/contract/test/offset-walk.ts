// A second implementation of windows for tests: it walks over minutes and asks Intl only for the offset of a zone.
import type { MaintenanceWindow } from '@platform/contract/config/agent-config';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The instants at which the offset of a zone changes, in order, with the offset from then on. */
export type Offsets = readonly { readonly at: number; readonly offset: number }[];

function offsetReader(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  return (at) => {
    const text = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(text) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * hour + Number(minutes) * minute);
  };
}

/** Walks in steps of four days and, where the offset changed in between, of hours and then of minutes. */
export function walkOffsets(zone: string, from: number, until: number): Offsets {
  const offsetAt = offsetReader(zone);
  const found = [{ at: -Infinity, offset: offsetAt(from) }];
  for (let at = from; at < until; at += 4 * day) {
    if (offsetAt(at + 4 * day) === offsetAt(at)) continue;
    let change = at;
    for (const step of [hour, minute]) while (offsetAt(change + step) === offsetAt(at)) change += step;
    found.push({ at: change + minute, offset: offsetAt(change + minute) });
  }
  return found;
}

export function localOf(offsets: Offsets, at: number): number {
  let offset = 0;
  for (const one of offsets) if (one.at <= at) ({ offset } = one);
  return at + offset;
}

/** The first minute of [at - 2 days, at + 2 days] in which the local clock shows `local` or more. */
export function firstMinute(offsets: Offsets, local: number): number {
  const near = offsets.filter((one, i) => {
    const end = offsets[i + 1]?.at ?? Infinity;
    return one.at < local + 2 * day && end > local - 2 * day;
  });
  let at = local - 2 * day;
  while (localOf(near, at) < local) at += minute;
  return at;
}

const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const clockMs = (text: string): number => Date.parse(`1970-01-01T${text}:00Z`);

/** Every opening that begins within `days` around an instant. */
export function openings(
  { days, from, to, duration_minutes: duration }: MaintenanceWindow,
  offsets: Offsets,
  around: number,
  reach: number,
): { begin: number; end: number }[] {
  const midnight = Math.floor(localOf(offsets, around) / day) * day;
  const found = [];
  for (let date = midnight - reach * day; date <= midnight + reach * day; date += day) {
    if (!days.includes(names[new Date(date).getUTCDay()] ?? 'sun')) continue;
    const begin = firstMinute(offsets, date + clockMs(from));
    const last = to === undefined ? 0 : date + clockMs(to) + (clockMs(to) <= clockMs(from) ? day : 0);
    found.push({ begin, end: duration === undefined ? firstMinute(offsets, last) : begin + duration * minute });
  }
  return found;
}
