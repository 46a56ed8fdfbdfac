import type { Cell } from '@platform/kit';
import type { Condition } from './conditions.ts';

/** What is wrong with this machine beyond what is wanted of it and what it runs: its files, its clock, its network. */
export type Troubles = Cell<readonly Condition[]>;

/** Sets the one condition of this code; the time at which it was first told stays while its message is the same. */
export function setTrouble(troubles: Troubles, condition: Condition): void {
  const before = troubles.get().find((c) => c.code === condition.code);
  if (before?.message === condition.message) return;
  troubles.update((list) => [...list.filter((c) => c.code !== condition.code), condition]);
}

/** Forgets the condition of this code, if there is one. */
export function clearTrouble(troubles: Troubles, code: string): void {
  if (troubles.get().some((c) => c.code === code)) troubles.update((list) => list.filter((c) => c.code !== code));
}
