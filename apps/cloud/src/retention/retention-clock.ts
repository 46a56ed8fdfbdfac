import type { Clock, Log } from '@platform/kit';
import { advance, heldBackMs, type RetentionTime, startOf } from './rules/retention-time.ts';
import type { Database } from '../database/database.ts';
import { readRetentionTime, writeRetentionTime } from './store/retention-time.ts';

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
      const before = state ?? startOf(await readRetentionTime(db), clocks());
      const next = advance(before, clocks());
      const aheadMs = heldBackMs(next);
      if (aheadMs > 0 && !isHeld) {
        const seconds = Math.round(aheadMs / 1000);
        log.warn('the clock jumped ahead: old data stays until the clock has kept step for a day', { seconds });
      }
      isHeld = aheadMs > 0;
      await writeRetentionTime(db, next.at);
      state = next;
      return next.at;
    },
  };
}
