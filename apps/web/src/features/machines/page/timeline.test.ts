import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { EventKind, MachineEventSchema } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { eventDays, eventMarks, marksText } from './timeline.ts';

const clock = (day: number, hours: number) => new Date(2026, 10, day, hours).getTime();
const event = (at: number, more: MessageInitShape<typeof MachineEventSchema>) =>
  create(MachineEventSchema, { time: timestampFromMs(at), ...more });
const events = [
  event(clock(29, 14), { kind: EventKind.CONDITION, severity: Severity.ERROR, text: 'The camera fails' }),
  event(clock(29, 2), {
    kind: EventKind.ABSENCE,
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

test('charts are marked with what may explain them, and with times without measurements', () => {
  const { marks, absences } = eventMarks(events);
  assert.deepEqual(
    marks.map(({ kind, tone }) => `${kind} ${tone}`),
    ['condition bad', 'revision quiet'],
  );
  assert.deepEqual(absences, [[clock(29, 2), clock(29, 2) + 840_000]]);
  assert.equal(marksText(marks, { from: clock(29, 0), until: clock(29, 15) }), '1 condition');
  assert.equal(marksText([...marks, ...marks], { from: 0, until: clock(29, 15) }), '2 conditions, 2 revisions');
});
