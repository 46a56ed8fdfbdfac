/** The trainer's only clock: `now` in ms, monotonic; `instant` as RFC 3339 text. */
export interface Clock {
  now(): number;
  instant(): string;
}
export const systemClock: Clock = { now: () => performance.now(), instant: () => new Date().toISOString() };
