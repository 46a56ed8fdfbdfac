import { errorText, type Clock, type Log } from '@platform/kit';
import { checkInterval, type Online, onlineState } from './rules/online.ts';
import type { Database } from '../database/database.ts';
import { saveLastSeen } from './store/machines.ts';

/** When each part was last seen. Kept in memory and written in batches; after a crash, the next check restores it. */
export type Presence = {
  touch(partId: string): void;
  /** Records that the agent was sent a configuration that it did not have: an earlier report says nothing of it. */
  sent(partId: string): void;
  /** Records that a report of the agent was stored. */
  reported(partId: string): void;
  /** Whether the agent was sent a configuration and has not reported since. */
  isAwaitingReport(partId: string): boolean;
  /** ms since 1970. @param stored - the value in the database. */
  lastSeen(partId: string, stored: number | null): number | undefined;
  online(partId: string, stored: number | null): Online;
  /** The last contacts that may be newer than the database, by part; ms since 1970. */
  recent(): ReadonlyMap<string, number>;
  /** Interval that machines should keep between two checks, ms. */
  checkMs(): number;
  flush(): Promise<void>;
};

const flushMs = 5_000;
const forgetMs = 10 * 60_000;

export function presence(of: {
  db: Database;
  clock: Clock;
  log: Log;
  stop: AbortSignal;
  /** Whether a check of the part is held now. */
  isWaiting: (partId: string) => boolean;
}): Presence & { done: Promise<void> } {
  /** Monotonic time: setting the system clock must not make machines appear offline. */
  const seen = new Map<string, number>();
  const fresh = new Map<string, number>();
  const unreported = new Set<string>();
  const flush = async (): Promise<void> => {
    const batch = new Map(fresh);
    fresh.clear();
    try {
      await saveLastSeen(of.db, batch);
    } catch (error) {
      of.log.warn('last contacts could not be stored', { error: errorText(error) });
      for (const [id, at] of batch) if (!fresh.has(id)) fresh.set(id, at);
    }
    const now = of.clock.now();
    for (const [id, at] of seen) if (now - at > forgetMs) seen.delete(id);
  };
  const run = async (): Promise<void> => {
    while (!of.stop.aborted) {
      await of.clock.sleep(flushMs, of.stop);
      await flush();
    }
  };
  const self: Presence = {
    touch(partId) {
      seen.set(partId, of.clock.now());
      fresh.set(partId, of.clock.wall());
    },
    sent: (partId) => void unreported.add(partId),
    reported: (partId) => void unreported.delete(partId),
    isAwaitingReport: (partId) => unreported.has(partId),
    lastSeen(partId, stored) {
      if (of.isWaiting(partId)) return of.clock.wall();
      const at = seen.get(partId);
      return at === undefined ? (stored ?? undefined) : Math.round(of.clock.wall() - (of.clock.now() - at));
    },
    online: (partId, stored) => onlineState(self.lastSeen(partId, stored), of.clock.wall(), self.checkMs()),
    recent: () => new Map([...seen.keys()].map((id) => [id, self.lastSeen(id, null) ?? 0])),
    checkMs: () => checkInterval(seen.size),
    flush,
  };
  return { ...self, done: run() };
}
