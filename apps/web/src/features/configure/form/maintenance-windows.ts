import { isObject, type Json } from '@platform/contract/text/json-object';
import { type ConfigText, jsonAt, removeValue, setValue, wrapInList } from '../config-edit.ts';
import type { JsonPath } from '../schema/json-path.ts';

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

const pathOf = (config: ConfigText, index: number): JsonPath =>
  Array.isArray(jsonAt(config.json, [key])) ? [key, index] : [key];

/** The text with changed fields of one window; nothing else changes. */
export function changeWindow(config: ConfigText, index: number, change: Partial<WindowFields>): string {
  const path = pathOf(config, index);
  const before = jsonAt(config.json, path);
  if (!isObject(before)) return config.text;
  const after = withFields(before, change);
  const isSame = (name: string): boolean => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  const written = Object.keys(after)
    .filter((name) => !isSame(name))
    .reduce((done, name) => setValue(done, [...path, name], JSON.stringify(after[name])), config.text);
  return Object.keys(before)
    .filter((name) => !Object.hasOwn(after, name))
    .reduce((done, name) => removeValue(done, [...path, name]), written);
}

/** One window is written as an object; with another one it becomes a list. */
export function addWindow(config: ConfigText): string {
  const windows = windowsOf(config.json) ?? [];
  const literal = JSON.stringify(newWindow);
  if (windows.length === 0) return setValue(config.text, [key], literal);
  const isList = Array.isArray(jsonAt(config.json, [key]));
  return setValue(isList ? config.text : wrapInList(config.text, [key]), [key, windows.length], literal);
}

export const removeWindow = (config: ConfigText, index: number): string =>
  removeValue(config.text, pathOf(config, index));

export const newWindow: Json = { from: '02:00', to: '04:00', time_zone: 'device' };
