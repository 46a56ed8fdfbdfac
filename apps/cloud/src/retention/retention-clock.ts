import type { Clock, Log } from '@platform/kit';
import { advance, heldBackMs, type RetentionTime, startOf } from './rules/retention-time.ts';
import { at, type Database } from '../database/database.ts';

/** Retention time (rules/retention-time.ts), stored across restarts. */
export type RetentionClock = {
  /** Advances and stores it. @returns ms since 1970. */
  tick(): Promise<number>;
};

export function retentionClock({ db, clock, log }: { db: Database; clock: Clock; log: Log }): RetentionClock {
  const clocks = () => ({ wall: clock.wall(), monotonic: clock.now() });
  let state: RetentionTime | undefined;
  let isHeld = false;
  return {
    async tick() {
      const before =
        state ?? startOf((await db.selectFrom('retentionTime').select('at').executeTakeFirst())?.at, clocks());
      const next = advance(before, clocks());
      const aheadMs = heldBackMs(next);
      if (aheadMs > 0 && !isHeld) {
        const seconds = Math.round(aheadMs / 1000);
        log.warn('the clock jumped ahead: old data stays until the clock has kept step for a day', { seconds });
      }
      isHeld = aheadMs > 0;
      const row = { at: at(next.at) };
      await db
        .insertInto('retentionTime')
        .values(row)
        .onConflict((conflict) => conflict.column('one').doUpdateSet(row))
        .execute();
      state = next;
      return next.at;
    },
  };
}
