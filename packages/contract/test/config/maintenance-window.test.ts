import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { MaintenanceWindow } from '@platform/contract/config/agent-config';
import { windowState, windowTimeText } from '@platform/contract/config/maintenance-window';
import { zoneClock } from '@platform/contract/config/zone-clock';
import { firstMinute, localOf, openings, walkOffsets, type Offsets } from '../offset-walk.ts';

const every = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const night: MaintenanceWindow = { days: every, from: '02:00', to: '04:00', time_zone: 'UTC' };
const weekend: MaintenanceWindow = { days: ['sat'], from: '22:00', to: '04:00', time_zone: 'Europe/Berlin' };
const inBerlin = (window: Partial<MaintenanceWindow>): MaintenanceWindow => ({
  days: every,
  from: '02:30',
  time_zone: 'Europe/Berlin',
  ...window,
});
const at = (text: string): number => Date.parse(text);

/** "open until …" or "closed until …". */
function stateText(windows: readonly MaintenanceWindow[], time: string, zone = 'UTC'): string {
  const { isOpen, until } = windowState(windows, at(time), zone);
  const end = until === undefined ? 'never' : new Date(until).toISOString().replace(/:00\.000Z$/, 'Z');
  return `${isOpen ? 'open' : 'closed'} until ${end}`;
}

const cases: [name: string, windows: MaintenanceWindow[], time: string, state: string][] = [
  ['a moment before', [night], '2026-11-20T01:59:59.999Z', 'closed until 2026-11-20T02:00Z'],
  ['at its start', [night], '2026-11-20T02:00:00Z', 'open until 2026-11-20T04:00Z'],
  ['a moment before its end', [night], '2026-11-20T03:59:59.999Z', 'open until 2026-11-20T04:00Z'],
  ['at its end', [night], '2026-11-20T04:00:00Z', 'closed until 2026-11-21T02:00Z'],
  ['Saturday evening in Berlin', [weekend], '2026-11-21T21:00:00Z', 'open until 2026-11-22T03:00Z'],
  ['a minute earlier', [weekend], '2026-11-21T20:59:00Z', 'closed until 2026-11-21T21:00Z'],
  ['Sunday at two belongs to Saturday', [weekend], '2026-11-22T01:00:00Z', 'open until 2026-11-22T03:00Z'],
  ['Sunday at four it is over', [weekend], '2026-11-22T03:00:00Z', 'closed until 2026-11-28T21:00Z'],
  ['Saturday at two belongs to Friday', [weekend], '2026-11-21T01:00:00Z', 'closed until 2026-11-21T21:00Z'],
  ['summer time', [weekend], '2026-07-18T20:00:00Z', 'open until 2026-07-19T02:00Z'],
  [
    'the hour that a clock change skips',
    [inBerlin({ from: '02:00', to: '03:00' })],
    '2027-03-28T00:30:00Z',
    'closed until 2027-03-29T00:00Z',
  ],
  [
    'a weekly window in the hour that a clock change skips',
    [inBerlin({ days: ['sun'], from: '02:00', to: '03:00' })],
    '2027-03-28T00:30:00Z',
    'closed until 2027-04-04T00:00Z',
  ],
  [
    'a beginning that a clock change skips is the moment of the change',
    [inBerlin({ to: '04:30' })],
    '2027-03-28T00:59:00Z',
    'closed until 2027-03-28T01:00Z',
  ],
  [
    'a duration is whole, also where the clock skips',
    [inBerlin({ duration_minutes: 30 })],
    '2027-03-28T01:00:00Z',
    'open until 2027-03-28T01:30Z',
  ],
  [
    'a time that comes twice begins the first time',
    [inBerlin({ duration_minutes: 30 })],
    '2026-10-25T00:29:00Z',
    'closed until 2026-10-25T00:30Z',
  ],
  ['and not again', [inBerlin({ duration_minutes: 30 })], '2026-10-25T01:30:00Z', 'closed until 2026-10-26T01:30Z'],
  [
    'an end that comes twice ends the first time',
    [inBerlin({ from: '01:00', to: '02:30' })],
    '2026-10-25T00:00:00Z',
    'open until 2026-10-25T00:30Z',
  ],
  [
    'half an hour from UTC',
    [{ days: every, from: '05:30', to: '05:31', time_zone: 'Asia/Kolkata' }],
    '2026-11-20T23:00:00Z',
    'closed until 2026-11-21T00:00Z',
  ],
  [
    'longer than a day',
    [{ days: ['fri'], from: '18:00', duration_minutes: 3780, time_zone: 'UTC' }],
    '2026-11-23T08:59:00Z',
    'open until 2026-11-23T09:00Z',
  ],
  ['the first of several', [weekend, night], '2026-11-20T05:00:00Z', 'closed until 2026-11-21T02:00Z'],
  [
    'windows that follow each other are one',
    [night, { days: ['fri'], from: '04:00', to: '05:00', time_zone: 'UTC' }],
    '2026-11-20T02:00:00Z',
    'open until 2026-11-20T05:00Z',
  ],
  [
    'every day, the whole day',
    [{ days: every, from: '00:00', duration_minutes: 1440, time_zone: 'UTC' }],
    '2026-11-20T02:00:00Z',
    'open until never',
  ],
  ['a window on no day', [{ ...night, days: [] }], '2026-11-20T00:00:00Z', 'closed until never'],
  ['no window', [], '2026-11-20T00:00:00Z', 'closed until never'],
];
for (const [name, windows, time, state] of cases)
  test(`windows: ${name}`, () => assert.equal(stateText(windows, time), state));

test('the time zone "device" is that of the machine', () => {
  const window: MaintenanceWindow = { ...night, time_zone: 'device' };
  assert.equal(stateText([window], '2026-11-20T00:00:00Z', 'Asia/Tokyo'), 'closed until 2026-11-20T17:00Z');
  assert.equal(windowState([window], at('2026-11-20T00:00:00Z'), 'Asia/Tokyo').zone, 'Asia/Tokyo');
});

test('the time of a window is shown in its time zone, with the date where the weekday could be another one', () => {
  const friday = at('2026-11-20T04:00:00Z');
  assert.equal(windowTimeText(at('2026-11-21T21:00:00Z'), 'Europe/Berlin', friday), 'Sat 22:00 Europe/Berlin');
  assert.equal(
    windowTimeText(at('2026-11-28T21:00:00Z'), 'Europe/Berlin', friday),
    'Sat 2026-11-28 22:00 Europe/Berlin',
  );
  assert.equal(windowTimeText(at('2026-11-21T02:00:00Z'), 'UTC', friday), 'Sat 02:00 UTC');
});

const [begin, end] = [at('2026-01-01T00:00:00Z'), at('2036-01-01T00:00:00Z')];
const day = 86_400_000;
const zones = new Map<string, Offsets>(
  Intl.supportedValuesOf('timeZone').map((zone) => [zone, walkOffsets(zone, begin - 20 * day, end + 20 * day)]),
);

test('in every zone and at each of its clock changes of ten years, a local time is found as by a walk over all minutes', () => {
  let changes = 0;
  for (const [zone, offsets] of zones) {
    const clock = zoneClock(zone);
    for (const { at: change } of offsets.slice(1)) {
      changes += 1;
      for (const shift of [-61, -60, -30, -1, 0, 1, 29, 60, 61, 119, 120]) {
        const local = localOf(offsets, change) + shift * 60_000;
        assert.equal(clock.firstAt(local), firstMinute(offsets, local), `${zone} ${new Date(local).toISOString()}`);
      }
      assert.equal(clock.localAt(change - 1), localOf(offsets, change - 1), zone);
    }
  }
  assert.ok(zones.size > 400 && changes > 2_000, `${zones.size} zones, ${changes} changes`);
});

const clockText = fc
  .nat(24 * 4 - 1)
  .map(
    (quarter) => `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`,
  );
const shape = fc
  .record({
    days: fc.subarray([...every], { minLength: 1 }),
    from: clockText,
    to: clockText,
    duration_minutes: fc.option(fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 10_080 }))),
  })
  .filter(({ from, to }) => from !== to);

test('in every zone, windows are open and closed as by a walk over all minutes', () => {
  let [open, closed] = [0, 0];
  for (const [index, [zone, offsets]] of [...zones].entries()) {
    const changes = offsets.slice(1).map(({ at: change }) => change);
    const time = fc.oneof(
      fc.integer({ min: begin / 60_000, max: end / 60_000 }).map((minutes) => minutes * 60_000),
      ...(changes.length > 0
        ? [
            fc
              .tuple(fc.constantFrom(...changes), fc.integer({ min: -2_000, max: 2_000 }))
              .map(([change, minutes]) => change + minutes * 60_000),
          ]
        : []),
    );
    for (const [{ duration_minutes: duration, to, ...rest }, wall] of fc.sample(fc.tuple(shape, time), {
      numRuns: 4,
      seed: index,
    })) {
      const window = { ...rest, time_zone: zone, ...(duration === null ? { to } : { duration_minutes: duration }) };
      const spans = openings(window, offsets, wall, 15).filter((span) => span.end > span.begin);
      const now = spans.filter((span) => span.begin <= wall && wall < span.end);
      const next = Math.min(...spans.filter((span) => span.begin > wall).map((span) => span.begin));
      const seen = windowState([window], wall, 'UTC');
      const name = `${JSON.stringify(window)} at ${new Date(wall).toISOString()}`;
      assert.equal(seen.isOpen, now.length > 0, name);
      if (seen.isOpen) {
        open += 1;
        let until = wall;
        for (const span of spans) if (span.begin <= until && span.end > until) until = span.end;
        assert.equal(seen.until, until - wall > 14 * day ? undefined : until, name);
      } else {
        closed += 1;
        assert.equal(seen.until, next, name);
      }
    }
  }
  assert.ok(open > 300 && closed > 300, `${open} open, ${closed} closed`);
});
