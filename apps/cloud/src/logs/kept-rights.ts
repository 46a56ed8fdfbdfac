import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import type { Caller } from '../access/rules/permissions.ts';
import { callerFor, makerOf } from '../access/store/makers.ts';
import type { Database } from '../database/database.ts';
import { operatedPart } from '../machines/part-access.ts';

/** How long an answer that goes on holds without another look at the rights of its caller. */
const everyMs = 5_000;

/** @returns a check for an answer that goes on: whether its caller may still operate these parts. It throws like `operatedPart`. */
export function keptRights(
  { db, clock }: { db: Database; clock: Clock },
  caller: Caller,
  partIds: readonly string[],
): () => Promise<void> {
  const state = { checked: clock.now() };
  return async () => {
    if (clock.now() - state.checked < everyMs) return;
    state.checked = clock.now();
    const current = await callerFor(db, makerOf(caller) ?? null);
    if (!current) throw new PlatformError('NOT_AUTHENTICATED');
    for (const id of partIds) await operatedPart(db, current, id);
  };
}
