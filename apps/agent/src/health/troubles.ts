import type { Cell } from '@platform/kit';
import type { Condition } from './conditions.ts';

/** Conditions that desired and observed state do not show, for example of files, clock and network. */
export type Troubles = Cell<readonly Condition[]>;

/** Sets the only condition of this code. While its message is the same, the first one stays, with its time. */
export function setTrouble(troubles: Troubles, condition: Condition): void {
  const before = troubles.get().find((c) => c.code === condition.code);
  if (before?.message === condition.message) return;
  troubles.update((list) => [...list.filter((c) => c.code !== condition.code), condition]);
}

export function clearTrouble(troubles: Troubles, code: string): void {
  if (troubles.get().some((c) => c.code === code)) troubles.update((list) => list.filter((c) => c.code !== code));
}
