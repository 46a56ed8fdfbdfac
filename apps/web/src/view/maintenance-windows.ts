import { isObject, type Json } from '@platform/contract/json-object';

const key = 'maintenance_window';

export const weekDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** One window as the form shows it. An invalid text stays, so that the list of problems can name it. */
export interface WindowFields {
  days: readonly string[];
  from: string;
  /** Empty: it has a duration. */
  to: string;
  durationMinutes: string;
  hasDuration: boolean;
  timeZone: string;
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

/** The windows of a configuration. Undefined: they are written in a way that only the editor can show. */
export function windowsOf(config: unknown): readonly Json[] | undefined {
  const given = isObject(config) ? config[key] : undefined;
  if (given === undefined) return [];
  const list: unknown[] = Array.isArray(given) ? given : [given];
  return list.every(isObject) ? list : undefined;
}

export const fieldsOf = (window: Json): WindowFields => ({
  days: Array.isArray(window['days']) ? window['days'].map(text) : weekDays,
  from: text(window['from']),
  to: text(window['to']),
  durationMinutes: text(window['duration_minutes']),
  hasDuration: Object.hasOwn(window, 'duration_minutes'),
  timeZone: text(window['time_zone'] ?? 'UTC'),
});

/** A window with changed fields; its other keys stay. All days and UTC are the defaults, and are not written. */
export function withFields(window: Json, change: Partial<WindowFields>): Json {
  const { days, from, to, durationMinutes, hasDuration, timeZone } = { ...fieldsOf(window), ...change };
  const { days: _days, from: _from, to: _to, duration_minutes: _minutes, time_zone: _zone, ...others } = window;
  const minutes = Number(durationMinutes);
  return {
    ...(days.length < weekDays.length && { days: weekDays.filter((day) => days.includes(day)) }),
    from,
    ...(hasDuration
      ? { duration_minutes: durationMinutes.trim() !== '' && Number.isFinite(minutes) ? minutes : durationMinutes }
      : { to }),
    ...(timeZone !== 'UTC' && { time_zone: timeZone }),
    ...others,
  };
}

/** The configuration with these windows; everything else except whitespace stays. */
export function withWindows(configJson: string, windows: readonly Json[]): string {
  const { [key]: _, ...config } = JSON.parse(configJson) as Record<string, unknown>;
  const [only] = windows;
  const value = windows.length === 1 ? only : windows;
  return `${JSON.stringify(windows.length === 0 ? config : { ...config, [key]: value }, null, 2)}\n`;
}

export const newWindow: Json = { from: '02:00', to: '04:00', time_zone: 'device' };
