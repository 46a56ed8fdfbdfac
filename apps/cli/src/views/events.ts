import { timestampMs } from '@bufbuild/protobuf/wkt';
import { SeveritySchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  AbsenceSchema,
  EventKindSchema,
  type MachineEvent,
} from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { formatDuration } from '@platform/kit';
import { enumName, enumWord, isoTime } from '../output.ts';

/** With the names of the wire; null: it does not apply. */
export const eventJson = (event: MachineEvent): Record<string, unknown> => ({
  time: isoTime(event.time),
  until: event.until ? isoTime(event.until) : null,
  kind: enumName(EventKindSchema, event.kind),
  absence: event.absence === 0 ? null : enumName(AbsenceSchema, event.absence),
  severity: event.severity === 0 ? null : enumName(SeveritySchema, event.severity),
  text: event.text,
  detail: event.detail,
  actor: event.actor,
  revision: event.revision === 0n ? null : Number(event.revision),
});

/** When, until when, which kind, what, and who did it. */
export const eventRow = (event: MachineEvent): string[] => [
  isoTime(event.time),
  event.until ? `${isoTime(event.until)} (${lasted(event)})` : '',
  enumWord(EventKindSchema, event.kind),
  [event.text, event.detail].filter(Boolean).join(': '),
  event.actor,
];

const lasted = ({ time, until }: MachineEvent): string =>
  time && until ? formatDuration((timestampMs(until) - timestampMs(time)) / 1000) : '';
