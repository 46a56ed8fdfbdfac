// Computes when maintenance windows are open. Pure: the time is a parameter, in milliseconds since 1970. Decision 0062.
import type { MaintenanceWindow } from '../gen/agent-config.gen.ts';
import { type LocalMs, type ZoneClock, zoneClock } from './zone-clock.ts';

/** In the order of Date.getUTCDay. */
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** A skipped hour may swallow a window that opens once a week. */
const horizonDays = 15;
const minuteOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** One opening of a window: begin ≤ time < end, in ms since 1970. */
interface Span {
  readonly begin: number;
  readonly end: number;
}

export interface WindowState {
  readonly isOpen: boolean;
  /** When it closes or, while it is closed, opens. Undefined: not within two weeks. */
  readonly until: number | undefined;
  /** Time zone of the window that opens or closes then. */
  readonly zone: string;
}

/**
 * Whether one of several windows is open.
 *
 * @param deviceZone - time zone of the machine, for windows with the time zone "device".
 */
export function windowState(windows: readonly MaintenanceWindow[], wallMs: number, deviceZone: string): WindowState {
  const first = windows
    .flatMap((window) => {
      const zone = zoneOf(window, deviceZone);
      const span = nextSpan(window, zone, wallMs);
      return span ? [{ ...span, zone }] : [];
    })
    .toSorted((a, b) => a.begin - b.begin)[0];
  if (!first) return { isOpen: false, until: undefined, zone: 'UTC' };
  if (first.begin > wallMs) return { isOpen: false, until: first.begin, zone: first.zone };
  return { isOpen: true, until: closing(windows, wallMs, deviceZone), zone: first.zone };
}

const zoneOf = ({ time_zone: zone }: MaintenanceWindow, deviceZone: string): string =>
  zone === 'device' ? deviceZone : zone;

/** When no window is open any more: windows that overlap or follow each other count as one. */
function closing(windows: readonly MaintenanceWindow[], wallMs: number, deviceZone: string): number | undefined {
  const limit = wallMs + (horizonDays - 1) * dayMs;
  let end = wallMs;
  while (end < limit) {
    const at = end;
    const spans = windows.map((window) => nextSpan(window, zoneOf(window, deviceZone), at));
    end = Math.max(at, ...spans.map((span) => (span && span.begin <= at ? span.end : at)));
    if (end === at) return end;
  }
  return undefined;
}

/** The opening that contains an instant or, if none does, the next one. */
function nextSpan(window: MaintenanceWindow, zone: string, wallMs: number): Span | undefined {
  const clock = zoneClock(zone);
  const today = Math.floor(clock.localAt(wallMs) / dayMs) * dayMs;
  const daysBack = Math.ceil((window.duration_minutes ?? 0) / (24 * 60)) + 2;
  for (let day = today - daysBack * dayMs; day <= today + horizonDays * dayMs; day += dayMs) {
    const name = dayNames[new Date(day).getUTCDay()];
    if (name === undefined || !window.days.includes(name)) continue;
    const { begin, end } = spanOn(window, day, clock);
    if (end > begin && end > wallMs) return { begin, end };
  }
  return undefined;
}

/** The opening that begins on a day. It is empty if the clock skips from its beginning to its end. */
function spanOn(window: MaintenanceWindow, day: LocalMs, clock: ZoneClock): Span {
  const from = minuteOf(window.from);
  const begin = clock.firstAt(day + from * minuteMs);
  if (window.duration_minutes !== undefined) return { begin, end: begin + window.duration_minutes * minuteMs };
  const to = minuteOf(window.to ?? window.from);
  return { begin, end: clock.firstAt(day + to * minuteMs + (to > from ? 0 : dayMs)) };
}

/**
 * An instant in a time zone, for users: "Sat 22:00 Europe/Berlin". The date is added if the weekday alone could mean
 * another day.
 */
export function windowTimeText(at: number, zone: string, wallMs: number): string {
  const local = zoneClock(zone).localAt(at);
  const text = new Date(local).toISOString();
  const day = dayNames[new Date(local).getUTCDay()] ?? '';
  const isNear = Math.abs(at - wallMs) < 6 * dayMs;
  const name = `${day.charAt(0).toUpperCase()}${day.slice(1)}`;
  return `${name} ${isNear ? '' : `${text.slice(0, 10)} `}${text.slice(11, 16)} ${/^Etc\/UTC$/i.test(zone) ? 'UTC' : zone}`;
}
