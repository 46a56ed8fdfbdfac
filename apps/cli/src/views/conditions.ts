import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Condition,
  ConditionSeverity,
  ConditionSubject,
  type ListConditionsResponse,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { isoTime } from '../output.ts';

const severityWords: Readonly<Record<ConditionSeverity, string>> = {
  [ConditionSeverity.UNSPECIFIED]: '',
  [ConditionSeverity.NOTE]: 'note',
  [ConditionSeverity.WARNING]: 'warning',
  [ConditionSeverity.ERROR]: 'error',
};
const subjectWords: Readonly<Record<ConditionSubject, string>> = {
  [ConditionSubject.UNSPECIFIED]: '',
  [ConditionSubject.MACHINE]: 'machine',
  [ConditionSubject.JOB]: 'job',
  [ConditionSubject.RUNNER]: 'runner',
  [ConditionSubject.SERVER]: 'server',
};

export const conditionJson = (
  one: Omit<Condition, 'mute'> & Pick<Partial<Condition>, 'mute'>,
): Record<string, unknown> => ({
  id: one.id,
  code: one.code,
  severity: severityWords[one.severity],
  subject: subjectWords[one.subject],
  subject_id: one.subjectId,
  subject_name: one.subjectName,
  message: one.message,
  remedy: one.remedy,
  path: one.path,
  since: isoTime(one.since),
  ended_on: one.endedOn ? isoTime(one.endedOn) : null,
  measured_on: one.measuredOn ? isoTime(one.measuredOn) : null,
  mute: one.mute
    ? {
        reason: one.mute.reason,
        muted_by: one.mute.mutedBy,
        muted_on: isoTime(one.mute.mutedOn),
        until: isoTime(one.mute.until),
        all: one.mute.ofAll,
      }
    : null,
});

/** Enough of an ID to tell it from others. */
const idCharacters = 8;

export function conditionRow(one: Condition, nowMs: number): string[] {
  const { mute, measuredOn } = one;
  // What ended has its end.
  const past = measuredOn && !one.endedOn ? ` (as of ${isoTime(measuredOn)})` : '';
  const about = `${past}${mute ? ` (muted until ${isoTime(mute.until)}: ${mute.reason})` : ''}`;
  const name = one.subjectName === '' ? (subjectWords[one.subject] ?? '') : one.subjectName;
  return [
    one.id.slice(0, idCharacters),
    severityWords[one.severity] ?? '',
    name,
    `${one.code}: ${one.message}${about}`,
    lasts(one.since, one.endedOn ? timestampMs(one.endedOn) : nowMs),
    one.endedOn ? '' : one.remedy,
  ];
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

function lasts(since: Timestamp | undefined, until: number): string {
  if (!since) return '';
  const seconds = Math.max(0, Math.round((until - timestampMs(since)) / 1_000));
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Numbers of all that match, and when they were measured. */
export function conditionsNote(answer: ListConditionsResponse, nowMs: number): string {
  const { errors = 0, warnings = 0, notes = 0 } = answer.counts ?? {};
  const shown = answer.conditions.length;
  const all = errors + warnings + notes;
  const when = answer.measuredOn
    ? `measured ${Math.max(0, Math.round((nowMs - timestampMs(answer.measuredOn)) / 1_000))} s ago`
    : 'not measured yet';
  const late = answer.measurementLate ? '; the server has not finished a measurement lately' : '';
  const cut = shown < all ? `; the first ${shown} are shown` : '';
  return `${errors} errors, ${warnings} warnings, ${notes} notes${cut}; ${when}${late}.`;
}
