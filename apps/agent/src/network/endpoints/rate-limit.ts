import type { Clock } from '@platform/kit';

/** A token bucket. @returns whether one more is allowed now */
export function rateLimit(clock: Clock, { burst, perSecond }: { burst: number; perSecond: number }): () => boolean {
  let left = burst;
  let last = clock.now();
  return () => {
    const now = clock.now();
    left = Math.min(burst, left + ((now - last) / 1000) * perSecond);
    last = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
