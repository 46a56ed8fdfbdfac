import {
  conditionOf,
  errorCondition,
  type ConditionCode,
  type ConditionData,
  type ConditionTexts,
  type SeverityOf,
} from '@platform/contract/conditions/conditions';
import type { Severity } from '@platform/contract/conditions/severity';
import type { PlatformError } from '@platform/contract/errors/errors';
import type { Cell } from '@platform/kit';
import type { Condition } from './conditions.ts';

/** Conditions that desired and observed state do not show, for example of files, clock and network. */
export type ConditionSet = Cell<readonly Condition[]>;

/** What a condition has beside its texts. */
type About = Pick<Condition, 'subject' | 'sinceWall' | 'path'>;

/**
 * Sets the only condition of this code and subject. While its message is the same, it keeps the time of the first one.
 *
 * @example setCondition(conditions, 'STATE_NOT_STORED', { problem: errorText(error) })
 */
export function setCondition<C extends ConditionCode>(
  conditions: ConditionSet,
  code: C,
  data: ConditionData<C>,
  { severity, ...about }: About & { severity?: Severity & SeverityOf<C> } = {},
): void {
  put(conditions, conditionOf(code, data, severity), about);
}

/** Sets the condition of an error that is reported as one. */
export const setErrorCondition = (
  conditions: ConditionSet,
  error: PlatformError & { code: ConditionCode },
  about: About = {},
): void => put(conditions, errorCondition(error), about);

function put(conditions: ConditionSet, texts: ConditionTexts, about: About): void {
  const isSame = (c: Condition): boolean => c.code === texts.code && c.subject === about.subject;
  const before = conditions.get().find(isSame);
  const isContinued = before?.message === texts.message;
  if (isContinued && before.remedy === texts.remedy) return;
  const next = isContinued ? { ...before, remedy: texts.remedy } : { ...texts, ...about };
  conditions.update((list) => [...list.filter((c) => !isSame(c)), next]);
}

export function clearCondition(conditions: ConditionSet, code: ConditionCode, subject?: string): void {
  const isMeant = (c: Condition): boolean => c.code === code && c.subject === subject;
  if (conditions.get().some(isMeant)) conditions.update((list) => list.filter((c) => !isMeant(c)));
}
