import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { isUuid } from '@platform/contract/text/names';
import { callerOf } from '../access/caller.ts';
import {
  type Absent,
  type Caller,
  requireInstallationOwner,
  requireMember,
  requireOperator,
} from '../access/rules/permissions.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import type { ConditionDeps } from './condition-scope.ts';
import { findCondition } from './store/condition-records.ts';
import { deleteMute, findMute, saveMute } from './store/mutes.ts';

const longestReason = 300;
const longestMuteDays = 90;
const dayMs = 24 * 3_600_000;

export const muteHandlers = (deps: ConditionDeps) => {
  const { db, clock } = deps;
  return {
    async muteCondition({ id, reason, until, ofAll }, context) {
      const caller = callerOf(context);
      const absent = () => new PlatformError('CONDITION_NOT_FOUND', { conditionId: id });
      const condition = isUuid(id) ? await findCondition(db, id.toLowerCase()) : undefined;
      if (!condition) throw absent();
      requireMayMute(caller, ofAll ? { ...condition, machineId: null } : condition, absent);
      const now = clock.wall();
      const of = { reason: requireReason(reason), until: requireEnd(until && timestampMs(until), now) };
      const mutedBy = actorOf(caller);
      const muteId = await audited(deps, caller, async (trx, record) => {
        const made = await saveMute(trx, { condition, isOfAll: ofAll, mutedBy, now, ...of });
        await record({
          orgId: condition.orgId,
          action: 'mute condition',
          subject: condition.subjectId || 'server',
          details: {
            code: condition.code,
            name: condition.subjectName,
            all: ofAll,
            reason: of.reason,
            until: new Date(of.until).toISOString(),
          },
        });
        return made;
      });
      const times = { mutedOn: timestampFromMs(now), until: timestampFromMs(of.until) };
      return { mute: { id: muteId, reason: of.reason, mutedBy, ofAll, ...times } };
    },
    async unmuteCondition({ id }, context) {
      const caller = callerOf(context);
      const absent = () => new PlatformError('MUTE_NOT_FOUND', { muteId: id });
      const mute = isUuid(id) ? await findMute(db, id.toLowerCase()) : undefined;
      if (!mute) throw absent();
      requireMayMute(caller, mute, absent);
      await audited(deps, caller, async (trx, record) => {
        if (!(await deleteMute(trx, mute.id))) return;
        const details = { code: mute.code, all: mute.subjectId === null };
        await record({ orgId: mute.orgId, action: 'unmute condition', subject: mute.subjectId || 'server', details });
      });
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof ConditionService>>;
};

/** @throws PlatformError `absent`, PERMISSION_DENIED */
function requireMayMute(
  caller: Caller,
  { orgId, machineId, locationId }: { orgId: string | null; machineId: string | null; locationId: string | null },
  absent: Absent,
): void {
  if (orgId === null) requireInstallationOwner(caller);
  else if (machineId === null || locationId === null) requireMember(caller, orgId, absent);
  else requireOperator(caller, { orgId, locationId, machineId }, absent);
}

/** @throws PlatformError INVALID_ARGUMENT */
function requireReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= longestReason && !/\p{Cc}/u.test(reason) && reason.isWellFormed())
    return reason;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'reason',
    value: JSON.stringify(text.slice(0, 40)),
    limit: `1 to ${longestReason} characters on one line`,
  });
}

/** @throws PlatformError INVALID_ARGUMENT */
function requireEnd(until: number | undefined, now: number): number {
  if (until !== undefined && until > now && until <= now + longestMuteDays * dayMs) return until;
  const isTime = until !== undefined && Math.abs(until) < 8.64e15;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'until',
    value: isTime ? new Date(until).toISOString() : 'no time',
    limit: `a time in the future, at most ${longestMuteDays} days from now`,
  });
}
