import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type ConditionSchema, ConditionSubject } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { reportValidMs } from '@platform/contract/machine/report-age';
import type { Presence } from '../machines/presence.ts';
import { actionOf } from './rules/actions.ts';
import type { SubjectKind } from './rules/condition.ts';
import type { ListedCondition } from './store/condition-lists.ts';

export const subjects = {
  machine: ConditionSubject.MACHINE,
  job: ConditionSubject.JOB,
  runner: ConditionSubject.RUNNER,
  server: ConditionSubject.SERVER,
} as const satisfies Record<SubjectKind, ConditionSubject>;

const ownCodes: readonly string[] = ['MACHINE_OFFLINE', 'MACHINE_NEVER_SEEN'];

/** What a machine reported is of the past while it is offline or its report is too old. @returns undefined: it holds now. */
function pastSince(
  { code, partId, lastSeen, reportedOn }: ListedCondition,
  { presence, now }: { presence: Presence; now: number },
): number | undefined {
  if (partId === null || ownCodes.includes(code)) return undefined;
  if (presence.online(partId, lastSeen) !== 'online') return lastSeen ?? undefined;
  return reportedOn !== null && now - reportedOn > reportValidMs ? reportedOn : undefined;
}

/** @param of - `now`: ms since 1970. */
export function conditionMessage(
  one: ListedCondition,
  of: { presence: Presence; now: number },
): MessageInitShape<typeof ConditionSchema> {
  const measured = one.endedOn ?? pastSince(one, of);
  return {
    id: one.id,
    code: one.code,
    severity: one.severity,
    subject: subjects[one.subject],
    subjectId: one.subjectId,
    subjectName: one.subjectName,
    message: one.message,
    remedy: one.remedy,
    since: timestampFromMs(one.beganOn),
    ...(one.endedOn !== null && { endedOn: timestampFromMs(one.endedOn) }),
    ...(measured !== undefined && { measuredOn: timestampFromMs(measured) }),
    action: actionOf(one),
    partId: one.partId ?? '',
    ...(one.muteId !== null && {
      mute: {
        id: one.muteId,
        reason: one.reason ?? '',
        mutedBy: one.mutedBy ?? '',
        ...(one.mutedOn !== null && { mutedOn: timestampFromMs(one.mutedOn) }),
        ...(one.until !== null && { until: timestampFromMs(one.until) }),
        ofAll: one.isOfAll === true,
      },
    }),
    path: one.subject === 'machine' ? one.place : '',
  };
}
