import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaintenanceWindow } from '@platform/contract/agent-config';
import { isInWindow, nextWindowStart, windowOpening } from '@platform/contract/maintenance-window';

const every = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const night: MaintenanceWindow = { days: every, from: '02:00', to: '04:00', time_zone: 'UTC' };
const weekend: MaintenanceWindow = { days: ['sat'], from: '22:00', to: '04:00', time_zone: 'Europe/Berlin' };
const at = (text: string): number => Date.parse(text);

const cases: [name: string, window: MaintenanceWindow, time: string, isIn: boolean, next: string][] = [
  ['a moment before', night, '2026-11-20T01:59:59.999Z', false, '2026-11-20T02:00:00.000Z'],
  ['at its start', night, '2026-11-20T02:00:00Z', true, '2026-11-20T02:00:00.000Z'],
  ['a moment before its end', night, '2026-11-20T03:59:59.999Z', true, '2026-11-20T03:59:59.999Z'],
  ['at its end', night, '2026-11-20T04:00:00Z', false, '2026-11-21T02:00:00.000Z'],
  ['Saturday evening in Berlin', weekend, '2026-11-21T21:00:00Z', true, '2026-11-21T21:00:00.000Z'],
  ['a minute earlier', weekend, '2026-11-21T20:59:00Z', false, '2026-11-21T21:00:00.000Z'],
  ['Sunday at two belongs to Saturday', weekend, '2026-11-22T01:00:00Z', true, '2026-11-22T01:00:00.000Z'],
  ['Sunday at four it is over', weekend, '2026-11-22T03:00:00Z', false, '2026-11-28T21:00:00.000Z'],
  ['Saturday at two belongs to Friday', weekend, '2026-11-21T01:00:00Z', false, '2026-11-21T21:00:00.000Z'],
  ['summer time', weekend, '2026-07-18T20:00:00Z', true, '2026-07-18T20:00:00.000Z'],
  [
    'the hour that a clock change skips',
    { days: every, from: '02:00', to: '03:00', time_zone: 'Europe/Berlin' },
    '2027-03-28T00:30:00Z',
    false,
    '2027-03-29T00:00:00.000Z',
  ],
  [
    'half an hour from UTC',
    { days: every, from: '05:30', to: '05:31', time_zone: 'Asia/Kolkata' },
    '2026-11-20T23:00:00Z',
    false,
    '2026-11-21T00:00:00.000Z',
  ],
];
for (const [name, window, time, isIn, next] of cases) {
  test(name, () => {
    assert.equal(isInWindow(window, at(time)), isIn);
    assert.equal(new Date(nextWindowStart(window, at(time)) ?? NaN).toISOString(), next);
  });
}

test('the next start is the first minute in the window, found also by looking at every minute', () => {
  const window: MaintenanceWindow = { days: ['wed', 'sun'], from: '23:10', to: '00:20', time_zone: 'America/New_York' };
  const start = at('2026-10-30T10:07:00Z');
  for (let hour = 0; hour < 96; hour += 31) {
    const from = start + hour * 3_600_000;
    let minute = from;
    while (!isInWindow(window, minute)) minute += 60_000;
    assert.equal(nextWindowStart(window, from), minute);
  }
});

test('the next opening is named in the time zone of the window, and in UTC', () => {
  const friday = at('2026-11-20T04:00:00Z');
  assert.equal(windowOpening(night, friday), 'Sat 2026-11-21 02:00 UTC');
  assert.equal(windowOpening(weekend, friday), 'Sat 2026-11-21 22:00 Europe/Berlin (Sat 2026-11-21 21:00 UTC)');
  assert.equal(
    windowOpening({ ...night, time_zone: 'Asia/Kolkata' }, friday),
    'Sat 2026-11-21 02:00 Asia/Kolkata (Fri 2026-11-20 20:30 UTC)',
  );
  assert.equal(windowOpening({ ...night, days: [] }, friday), undefined);
});

test('a window that never comes has no next start', () => {
  assert.equal(
    nextWindowStart({ days: [], from: '01:00', to: '02:00', time_zone: 'UTC' }, at('2026-11-20T00:00:00Z')),
    undefined,
  );
});
