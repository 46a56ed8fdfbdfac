// Computes when restarts are allowed. Pure: the time is a parameter, in milliseconds since 1970.
import type { MaintenanceWindow } from './gen/agent-config.gen.ts';

const order = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
type Day = (typeof order)[number];

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const minuteOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
const dayBefore = (day: Day): Day => order[(order.indexOf(day) + 6) % 7] ?? day;

interface LocalTime {
  readonly day: Day;
  /** Minute of the day. */
  readonly minute: number;
}

/** Local time of a time zone. Creating the formatter is slow, using it is fast. */
function wallClock(timeZone: string): (wallMs: number) => LocalTime {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (wallMs) => {
    const part = Object.fromEntries(format.formatToParts(wallMs).map(({ type, value }) => [type, value]));
    const day = order.find((name) => name === part['weekday']?.toLowerCase());
    if (!day) throw new Error(`unexpected name of a day: ${part['weekday']}`);
    return { day, minute: Number(part['hour']) * 60 + Number(part['minute']) };
  };
}

function isOpen(window: MaintenanceWindow, { day, minute }: LocalTime): boolean {
  const [from, to] = [minuteOf(window.from), minuteOf(window.to)];
  if (from < to) return window.days.includes(day) && minute >= from && minute < to;
  return (window.days.includes(day) && minute >= from) || (window.days.includes(dayBefore(day)) && minute < to);
}

/**
 * Whether an instant is in the window: from ≤ time < to. A window over midnight belongs to the day on which it starts.
 */
export const isInWindow = (window: MaintenanceWindow, wallMs: number): boolean =>
  isOpen(window, wallClock(window.time_zone)(wallMs));

/**
 * The first instant from `wallMs` on that is in the window: `wallMs` itself, or else the start of a minute. Undefined
 * if there is none within eight days (the window is in the hour that a clock change skips).
 */
export function nextWindowStart(window: MaintenanceWindow, wallMs: number): number | undefined {
  const local = wallClock(window.time_zone);
  if (isOpen(window, local(wallMs))) return wallMs;
  let at = Math.floor(wallMs / minuteMs) * minuteMs + minuteMs;
  const end = at + 8 * dayMinutes * minuteMs;
  while (at < end) {
    const time = local(at);
    if (isOpen(window, time)) return at;
    // Take long steps while the window is far away: zones shift by two hours at most.
    const left = (minuteOf(window.from) - time.minute + dayMinutes) % dayMinutes;
    at += Math.max(1, left - 150) * minuteMs;
  }
  return undefined;
}

const localText = (wallMs: number, timeZone: string): string => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const part = Object.fromEntries(format.formatToParts(wallMs).map(({ type, value }) => [type, value]));
  return `${part['weekday']} ${part['year']}-${part['month']}-${part['day']} ${part['hour']}:${part['minute']}`;
};

/**
 * Next opening of a closed window, in its own time zone and in UTC: "Sat 2026-11-21 22:00 Europe/Berlin (Sat 2026-11-21
 * 21:00 UTC)".
 */
export function windowOpening(window: MaintenanceWindow, wallMs: number): string | undefined {
  const at = nextWindowStart(window, wallMs);
  if (at === undefined) return undefined;
  const { time_zone: zone } = window;
  const utc = `${localText(at, 'UTC')} UTC`;
  return /^(?:Etc\/)?UTC$/i.test(zone) ? utc : `${localText(at, zone)} ${zone} (${utc})`;
}
