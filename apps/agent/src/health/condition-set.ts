import type { Cell } from '@platform/kit';
import type { Condition } from './conditions.ts';

/** Conditions that desired and observed state do not show, for example of files, clock and network. */
export type ConditionSet = Cell<readonly Condition[]>;

/** Sets the only condition of this code. While its message is the same, the first one stays, with its time. */
export function setCondition(conditions: ConditionSet, condition: Condition): void {
  const before = conditions.get().find((c) => c.code === condition.code);
  if (before?.message === condition.message) return;
  conditions.update((list) => [...list.filter((c) => c.code !== condition.code), condition]);
}

export function clearCondition(conditions: ConditionSet, code: string): void {
  if (conditions.get().some((c) => c.code === code)) conditions.update((list) => list.filter((c) => c.code !== code));
}
