// Converts between instants and local times of a time zone, by the zone data of Intl. Pure.

const secondMs = 1_000;
const dayMs = 86_400_000;

/**
 * A local date and time without its zone, as the milliseconds at which UTC reads the same. Every day of it has 24
 * hours.
 */
export type LocalMs = number;

export interface ZoneClock {
  localAt: (wallMs: number) => LocalMs;
  /**
   * The first instant at which the clock of the zone shows this time or a later one. If the clock skips the time, this
   * is the moment of the skip; if it shows the time twice, the first of the two.
   */
  firstAt: (local: LocalMs) => number;
}

/** Creating it is slow, using it is fast. */
export function zoneClock(timeZone: string): ZoneClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  });
  const localAt = (wallMs: number): LocalMs => {
    const whole = Math.floor(wallMs / secondMs) * secondMs;
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of format.formatToParts(whole)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (wallMs - whole);
  };
  const offsetAt = (wallMs: number): number => localAt(wallMs) - wallMs;
  const firstAt = (local: LocalMs): number => {
    const shown = [offsetAt(local - dayMs), offsetAt(local + dayMs)]
      .map((offset) => local - offset)
      .filter((at) => localAt(at) === local);
    return shown.length > 0 ? Math.min(...shown) : endOfSkip(localAt, local);
  };
  return { localAt, firstAt };
}

/** The moment at which the clock skips a local time. No offset exceeds a day, so it is less than a day away. */
function endOfSkip(localAt: ZoneClock['localAt'], local: LocalMs): number {
  let [before, from] = [local - dayMs, local + dayMs];
  while (from - before > secondMs) {
    const middle = before + Math.floor((from - before) / 2 / secondMs) * secondMs;
    if (localAt(middle) >= local) from = middle;
    else before = middle;
  }
  return from;
}
