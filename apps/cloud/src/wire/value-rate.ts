import { LRUCache } from 'lru-cache';
import type { Clock } from '@platform/kit';

/** Token bucket per caller for parsed values of messages, so that one caller takes only a part of the CPU. */
export type ValueRate = {
  /** @returns false: the bucket of the caller is empty. */
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
