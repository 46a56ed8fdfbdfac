import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '@platform/kit';
import type { ViewRequests } from '../device-api/view-requests.ts';
import { watchers } from '../device-api/watchers.ts';
import { liveLimits, LiveViews, type LiveTime } from './rules/live-views.ts';

const sweepMs = 10_000;
const dayMs = 24 * 3_600_000;

/** What the last check of a machine server shows. `silent`: there was none for a while. */
type ServerKnowledge = 'knows' | 'does not know' | 'silent';

/** The live views of this process, and who waits for them. */
export type LiveRequests = ViewRequests & {
  views: LiveViews;
  time(): LiveTime;
  serverOf(partId: string): ServerKnowledge;
  /** Calls `wake` when something of the camera was sent. @returns stops watching. */
  watch(partId: string, camera: string, wake: () => void): () => void;
  wake(partId: string, camera: string): void;
};

export function liveRequests(of: {
  clock: Clock;
  /** MB that one machine may send in a UTC day. */
  liveMbPerDay: number;
  stop: AbortSignal;
}): LiveRequests & { done: Promise<void> } {
  const { clock, stop } = of;
  const views = new LiveViews({ dayBytes: of.liveMbPerDay * 1e6, first: randomInt(1, 2 ** 40) });
  const checks = new LRUCache<string, { knows: boolean; at: number }>({ max: 200_000 });
  const waiting = watchers(clock, stop);
  const keyOf = (partId: string, camera: string): string => `${partId} ${camera}`;
  const time = (): LiveTime => ({ now: clock.now(), day: Math.floor(clock.wall() / dayMs) });
  const isRecent = (at: number): boolean => clock.now() - at < liveLimits.silentMs;
  const sweeping = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(sweepMs, stop);
      views.sweep(time());
    }
  };
  return {
    views,
    time,
    desired: (partId) => views.desired(partId, time()),
    noteCheck(partId, knows) {
      const before = checks.get(partId);
      // A program that reads the configuration with a key of the machine does not run it.
      if (!knows && before?.knows && isRecent(before.at)) return;
      checks.set(partId, { knows, at: clock.now() });
    },
    serverOf(partId) {
      const found = checks.get(partId);
      if (!found || !isRecent(found.at)) return 'silent';
      return found.knows ? 'knows' : 'does not know';
    },
    watch: (partId, camera, wake) => waiting.watch(keyOf(partId, camera), wake),
    wake: (partId, camera) => waiting.wake(keyOf(partId, camera)),
    done: sweeping(),
  };
}
