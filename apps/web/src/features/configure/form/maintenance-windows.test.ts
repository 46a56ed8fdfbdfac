import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfigText } from '../config-edit.ts';
import {
  addWindow,
  changeWindow,
  fieldsOf,
  newWindow,
  removeWindow,
  windowsOf,
  withFields,
} from './maintenance-windows.ts';

const night = { from: '22:00', to: '04:00' };

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

test('windows are added, changed and removed, and all other text stays', () => {
  const one = '{ "n": 1.0, "maintenance_window": { "to": "04:00",  "from": "22:00" } }';
  const added = '{ "from": "02:00", "to": "04:00", "time_zone": "device" }';
  const two = `{ "n": 1.0, "maintenance_window": [{ "to": "04:00",  "from": "22:00" }, ${added}] }`;
  const read = readConfigText;
  const table: [text: string, after: string][] = [
    [addWindow(read('{ "n": 1.0 }')), `{ "n": 1.0, "maintenance_window": ${added} }`],
    [addWindow(read(one)), two],
    [addWindow(read('{ "maintenance_window": [] }')), `{ "maintenance_window": ${added} }`],
    [changeWindow(read(one), 0, { from: '23:00' }), one.replace('22:00', '23:00')],
    [
      changeWindow(read(two), 0, { hasDuration: true, durationMinutes: '90' }),
      two.replace('"to": "04:00",  "from": "22:00"', '"from": "22:00", "duration_minutes": 90'),
    ],
    [changeWindow(read('{}'), 0, { from: '23:00' }), '{}'],
    [removeWindow(read(one), 0), '{ "n": 1.0 }'],
    [removeWindow(read(two), 1), one.replace('{ "to"', '[{ "to"').replace('" } }', '" }] }')],
  ];
  for (const [text, after] of table) assert.equal(text, after);
});
