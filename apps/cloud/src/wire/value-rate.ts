import { LRUCache } from 'lru-cache';
import type { Clock } from '@platform/kit';

/** Values of messages that a caller may have parsed: a token bucket each, so that one of them takes a part of the processor only. */
export type ValueRate = {
  /** @returns false: too many in a short time. */
  take(callerId: string, values: number): boolean;
  readonly perSecond: number;
};

const callers = 10_000;

export function valueRate(clock: Clock, perSecond = 100_000, burst = 400_000): ValueRate {
  const buckets = new LRUCache<string, { left: number; at: number }>({ max: callers });
  return {
    perSecond,
    take(callerId, values) {
      const now = clock.now();
      const bucket = buckets.get(callerId) ?? { left: burst, at: now };
      const left = Math.min(burst, bucket.left + ((now - bucket.at) / 1_000) * perSecond);
      const isEnough = left >= values;
      buckets.set(callerId, { left: isEnough ? left - values : left, at: now });
      return isEnough;
    },
  };
}
