import type { Cell } from '@platform/kit';
import type { Condition } from './conditions.ts';

/** Conditions that desired and observed state do not show, for example of files, clock and network. */
export type ConditionSet = Cell<readonly Condition[]>;

/** Sets the only condition of this code and subject. While its message is the same, it keeps the time of the first one. */
export function setCondition(conditions: ConditionSet, condition: Condition): void {
  const isSame = (c: Condition): boolean => c.code === condition.code && c.subject === condition.subject;
  const before = conditions.get().find(isSame);
  const isContinued = before?.message === condition.message;
  if (isContinued && before.remedy === condition.remedy) return;
  const next = isContinued ? { ...before, remedy: condition.remedy } : condition;
  conditions.update((list) => [...list.filter((c) => !isSame(c)), next]);
}

export function clearCondition(conditions: ConditionSet, code: string, subject?: string): void {
  const isMeant = (c: Condition): boolean => c.code === code && c.subject === subject;
  if (conditions.get().some(isMeant)) conditions.update((list) => list.filter((c) => !isMeant(c)));
}
