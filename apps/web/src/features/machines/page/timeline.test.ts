import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind, MachineEventSchema } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { eventDays, eventMarks, marksText } from './timeline.ts';

const clock = (day: number, hours: number) => new Date(2026, 10, day, 0, hours * 60).getTime();
const event = (at: number, more: MessageInitShape<typeof MachineEventSchema>) =>
  create(MachineEventSchema, { time: timestampFromMs(at), ...more });
const events = [
  event(clock(29, 14), { kind: EventKind.CONDITION, severity: Severity.ERROR, text: 'The camera fails' }),
  event(clock(29, 2), {
    kind: EventKind.ABSENCE,
    absence: Absence.NOT_MEASURED,
    text: 'Nothing was measured',
    until: timestampFromMs(clock(29, 2) + 840_000),
  }),
  event(clock(28, 17), {
    kind: EventKind.REVISION,
    text: 'Revision 7 was saved',
    detail: 'gate',
    actor: 'api_key Mira (0f)',
    revision: 7n,
  }),
  event(clock(20, 9), { kind: 99 as EventKind, text: 'Of a newer server' }),
];

test('events are rows by day, with who did it', () => {
  const days = eventDays(events, clock(29, 15));
  assert.deepEqual(
    days.map(({ title, rows }) => [title, ...rows.map((row) => [row.clock, row.kind, row.tone, row.text].join(' '))]),
    [
      ['Today', '14:00 condition bad The camera fails', '02:00 absence quiet Nothing was measured for 14 min'],
      ['Yesterday', '17:00 revision quiet Revision 7 was saved'],
      ['2026-11-20', '09:00 other quiet Of a newer server'],
    ],
  );
  const saved = days[1]?.rows[0];
  assert.deepEqual([saved?.actor, saved?.detail, saved?.revision], ['Mira (key)', 'gate', 7n]);
});

const absent = (absence: Absence, from: number, until?: number) =>
  event(from, {
    kind: EventKind.ABSENCE,
    absence,
    text: absence === Absence.OFFLINE ? 'Offline' : 'Not known whether it was online',
    ...(until !== undefined && { until: timestampFromMs(until) }),
  });
const lasting: readonly (readonly [about: string, from: number, until: number, text: string])[] = [
  ['on one day', clock(29, 14), clock(29, 14.5), 'Offline 14:00 – 14:30 (30 min)'],
  ['until today', clock(28, 23), clock(29, 1), 'Offline 23:00 – today 01:00 (2 h)'],
  ['until yesterday', clock(27, 23), clock(28, 1), 'Offline 23:00 – yesterday 01:00 (2 h)'],
  ['for days, long ago', clock(20, 23), clock(22, 1), 'Offline 23:00 – 2026-11-22 01:00 (1 d 2 h)'],
];
for (const [about, from, until, text] of lasting)
  test(`an absence has both its times: ${about}`, () => {
    const [day] = eventDays([absent(Absence.OFFLINE, from, until)], clock(29, 15));
    assert.equal(day?.rows[0]?.text, text);
  });

test('charts are marked with what may explain them', () => {
  const { marks, bands } = eventMarks(events, clock(29, 15));
  assert.deepEqual(
    marks.map(({ kind, tone }) => `${kind} ${tone}`),
    ['condition bad', 'revision quiet'],
  );
  assert.deepEqual(bands, [{ from: clock(29, 2), until: clock(29, 2) + 840_000, kind: 'unmeasured' }]);
  assert.equal(marksText({ marks, bands: [] }, { from: clock(29, 0), until: clock(29, 15) }), '1 condition');
  const twice = { marks: [...marks, ...marks], bands: [] };
  assert.equal(marksText(twice, { from: 0, until: clock(29, 15) }), '2 conditions, 2 revisions');
});

test('charts are marked with the times without contact, up to now, and with those of which nothing is known', () => {
  const { bands } = eventMarks(
    [
      absent(Absence.OFFLINE, clock(29, 14)),
      absent(Absence.NOT_KNOWN, clock(29, 10), clock(29, 12)),
      absent(Absence.OFFLINE, clock(29, 9), clock(29, 10)),
      absent(Absence.REMOVED, clock(29, 8)),
    ],
    clock(29, 15),
  );
  assert.deepEqual(
    bands.map(({ kind, from, until }) => [kind, (until - from) / 3_600_000]),
    [
      ['offline', 1],
      ['unknown', 2],
      ['offline', 1],
    ],
  );
  const lasts = [absent(Absence.OFFLINE, clock(29, 9)), absent(Absence.NOT_KNOWN, clock(29, 10), clock(29, 12))];
  assert.deepEqual(
    eventMarks(lasts, clock(29, 15)).bands.map((band) => [band.kind, band.from, band.until]),
    [
      ['offline', clock(29, 9), clock(29, 10)],
      ['offline', clock(29, 12), clock(29, 15)],
      ['unknown', clock(29, 10), clock(29, 12)],
    ],
    'an absence that lasts is not known where the server did not listen',
  );
  const span = { from: clock(29, 9.5), until: clock(29, 15) };
  assert.equal(marksText({ marks: [], bands }, span), 'offline 1 h 30 min, not known 2 h');
});
