import { PlatformError } from '@platform/contract/errors/errors';

/** Parses command-line text into numbers, lists and durations, or throws a clear error. */
const refuse = (field: string, value: string, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });

export function wholeNumber(field: string, value: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const n = Number(value);
  if (/^\d+$/.test(value) && n >= min && n <= max) return n;
  const limit =
    max === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${min}` : `a whole number, ${min} to ${max}`;
  throw refuse(field, value, limit);
}

const unitSeconds: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 };

/** Seconds of "90s", "30m", "1h30m", "2d". */
export function seconds(field: string, value: string): number {
  const parts = [...value.matchAll(/(\d{1,9})([dhms])/g)];
  const total = parts.reduce((sum, [, n = '', unit = '']) => sum + Number(n) * (unitSeconds[unit] ?? 0), 0);
  if (parts.length === 0 || parts.map(([all]) => all).join('') !== value || total === 0)
    throw refuse(field, value, 'a time such as 90s, 30m, 1h30m or 2d');
  return total;
}

/** An instant in ms since 1970: "24h" is relative to now; anything else is an ISO 8601 time with its zone. */
export function timeBefore(field: string, value: string, nowMs: number): number {
  if (/^(\d+[dhms])+$/.test(value)) return nowMs - seconds(field, value) * 1000;
  const ms = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(ms)) throw refuse(field, value, 'a time such as 24h, 7d, 2026-03-01 or 2026-03-01T12:00:00Z');
  return ms;
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** Like `collect`, for comma-separated lists: a,b,c. */
export const collectList = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
];

/** Parses key=value; each key may occur once. */
export function keyValues(field: string, values: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const one of values) {
    const at = one.indexOf('=');
    const key = one.slice(0, Math.max(0, at));
    if (at < 1) throw refuse(field, one, 'key=value');
    if (Object.hasOwn(found, key)) throw refuse(field, one, `${key} once`);
    found[key] = one.slice(at + 1);
  }
  return found;
}

/** The meaning of a value; accepts - or _, upper or lower case. */
export function choice<T>(field: string, value: string, of: Readonly<Record<string, T>>): T {
  const key = value.toLowerCase().replaceAll('_', '-');
  const found = Object.hasOwn(of, key) ? of[key] : undefined;
  if (found === undefined) throw refuse(field, value, `one of ${Object.keys(of).join(', ')}`);
  return found;
}

/** A version that sorts by time: 2026-03-01T12-00-05. `ms` since 1970. */
export const timeVersion = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-');
