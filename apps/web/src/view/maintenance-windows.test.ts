import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, newWindow, windowsOf, withFields, withWindows } from './maintenance-windows.ts';

const night = { from: '22:00', to: '04:00' };
const text = (value: unknown): string => JSON.stringify(value);

test('the form shows one window, a list of them, and nothing that is neither', () => {
  const table: [config: unknown, windows: unknown][] = [
    [{}, []],
    [{ maintenance_window: night }, [night]],
    [{ maintenance_window: [night, { from: '1' }] }, [night, { from: '1' }]],
    [{ maintenance_window: [night, 7] }, undefined],
    [{ maintenance_window: null }, undefined],
    [7, []],
  ];
  for (const [config, windows] of table) assert.deepEqual(windowsOf(config), windows);
});

test('a change keeps all other keys, and defaults are not written', () => {
  const window = { ...night, days: ['sat'], later: 1 };
  const table: [change: Parameters<typeof withFields>[1], window: unknown][] = [
    [{ from: '23:00' }, { days: ['sat'], from: '23:00', to: '04:00', later: 1 }],
    [{ days: ['sun', 'sat'] }, { days: ['sat', 'sun'], ...night, later: 1 }],
    [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] }, { ...night, later: 1 }],
    [{ timeZone: 'device' }, { days: ['sat'], ...night, time_zone: 'device', later: 1 }],
    [
      { hasDuration: true, durationMinutes: '90' },
      { days: ['sat'], from: '22:00', duration_minutes: 90, later: 1 },
    ],
    [
      { hasDuration: true, durationMinutes: 'x' },
      { days: ['sat'], from: '22:00', duration_minutes: 'x', later: 1 },
    ],
  ];
  for (const [change, changed] of table) assert.deepEqual(withFields(window, change), changed);
  assert.deepEqual(withFields(newWindow, {}), newWindow);
  assert.equal(fieldsOf({ duration_minutes: 5 }).hasDuration, true);
});

test('one window is written as an object, several as a list, none not at all', () => {
  const before = text({ agent: { debug: 1 }, maintenance_window: 7 });
  const table: [windows: object[], config: unknown][] = [
    [[], { agent: { debug: 1 } }],
    [[night], { agent: { debug: 1 }, maintenance_window: night }],
    [[night, night], { agent: { debug: 1 }, maintenance_window: [night, night] }],
  ];
  for (const [windows, config] of table)
    assert.deepEqual(JSON.parse(withWindows(before, windows as Parameters<typeof withWindows>[1])), config);
});
