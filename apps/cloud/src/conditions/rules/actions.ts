import { type ConditionCode, isConditionCode } from '@platform/contract/conditions/conditions';
import { ConditionAction } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import type { SubjectKind } from './condition.ts';

const byCode: Readonly<Partial<Record<ConditionCode, ConditionAction>>> = {
  MACHINE_NEVER_SEEN: ConditionAction.CONNECT_MACHINE,
  RESTART_NEEDED: ConditionAction.RESTART_SERVER,
  AGENT_RESTART_NEEDED: ConditionAction.RESTART_AGENT,
  OS_REBOOT_NEEDED: ConditionAction.REBOOT,
  VERSION_QUARANTINED: ConditionAction.CLEAR_QUARANTINE,
  SERVER_CRASHES: ConditionAction.OPEN_LOGS,
  CONFIG_CORRECTED: ConditionAction.OPEN_CONFIGURATION,
  NO_EFFECT_HERE: ConditionAction.OPEN_CONFIGURATION,
  RESOURCE_UNKNOWN: ConditionAction.OPEN_CONFIGURATION,
  RESOURCE_INVALID: ConditionAction.OPEN_CONFIGURATION,
  RESOURCE_FAILED: ConditionAction.OPEN_CONFIGURATION,
};

const bySubject: Readonly<Record<SubjectKind, ConditionAction>> = {
  machine: ConditionAction.OPEN_MACHINE,
  job: ConditionAction.OPEN_JOB,
  runner: ConditionAction.OPEN_RUNNERS,
  server: ConditionAction.OPEN_SETTINGS,
};

/** Where, or by what, an operator deals with a condition. */
export function actionOf({
  code,
  subject,
  place,
}: {
  code: string;
  subject: SubjectKind;
  place: string;
}): ConditionAction {
  const known = isConditionCode(code) ? byCode[code] : undefined;
  if (known !== undefined) return known;
  if (subject !== 'machine') return bySubject[subject];
  if (/^(?:NETWORK|WIFI)_/.test(code)) return ConditionAction.OPEN_NETWORK;
  return place === '' ? ConditionAction.OPEN_MACHINE : ConditionAction.OPEN_CONFIGURATION;
}
