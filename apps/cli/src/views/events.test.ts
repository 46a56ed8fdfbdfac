import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind, MachineEventSchema } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { eventJson, eventRow } from './events.ts';

const at = (time: string) => timestampFromMs(Date.parse(time));
const offline = create(MachineEventSchema, {
  time: at('2026-11-29T14:02:00Z'),
  until: at('2026-11-29T14:31:00Z'),
  kind: EventKind.ABSENCE,
  absence: Absence.OFFLINE,
  severity: Severity.WARNING,
  text: 'Offline',
});
const saved = create(MachineEventSchema, {
  time: at('2026-11-29T13:00:00Z'),
  kind: EventKind.REVISION,
  text: 'Revision 7 was saved',
  detail: 'gate',
  actor: 'api_key Mira (0f)',
  revision: 7n,
});

test('an event is a row with both its times', () => {
  assert.deepEqual(eventRow(offline), [
    '2026-11-29T14:02:00.000Z',
    '2026-11-29T14:31:00.000Z (29 min)',
    'absence',
    'Offline',
    '',
  ]);
  assert.deepEqual(eventRow(saved).slice(1), ['', 'revision', 'Revision 7 was saved: gate', 'api_key Mira (0f)']);
});

test('an event in JSON has null where something does not apply', () => {
  const { time, until, kind, absence, severity, revision } = eventJson(offline);
  assert.deepEqual(
    [time, until, kind, absence, severity, revision],
    ['2026-11-29T14:02:00.000Z', '2026-11-29T14:31:00.000Z', 'absence', 'offline', 'warning', null],
  );
  const other = eventJson(saved);
  assert.deepEqual(
    [other['until'], other['absence'], other['severity'], other['detail'], other['actor'], other['revision']],
    [null, null, null, 'gate', 'api_key Mira (0f)', 7],
  );
});
