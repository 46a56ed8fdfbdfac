import { conditionOf, type ConditionCode, type ConditionData } from '@platform/contract/conditions/conditions';
import { severityRank } from '@platform/contract/conditions/severity';
import type { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

/** A condition that the server notices about a machine, as in platform.fleet.v1.Condition. */
export function noticedCondition<C extends ConditionCode>(code: C, data: ConditionData<C>) {
  const { severity, message, remedy } = conditionOf(code, data);
  return { code, severity: severityRank[severity] satisfies Severity as Severity, message, remedy };
}
