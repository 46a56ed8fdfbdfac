import { PlatformError } from '@platform/contract/errors/errors';

/**
 * Concurrency limiter that keeps the newest calls of a key. One slot would be too few, because a broken connection
 * leaves its call behind for a while. Without a limit, a machine that retries in a loop would take the connections of
 * all others.
 */
export type ConcurrencyLimiter = {
  /** @param evict - called at most once, when newer calls took the slot. @returns releases the slot. */
  take(key: string, evict: () => void): () => void;
};

export function concurrencyLimiter(most: number): ConcurrencyLimiter {
  const taken = new Map<string, readonly (() => void)[]>();
  const without = (key: string, one: () => void): void => {
    const left = (taken.get(key) ?? []).filter((other) => other !== one);
    if (left.length > 0) taken.set(key, left);
    else taken.delete(key);
  };
  return {
    take(key, evict) {
      const all = [...(taken.get(key) ?? []), evict];
      taken.set(key, all.slice(-most));
      if (all.length > most) all[0]?.();
      return () => without(key, evict);
    },
  };
}

/** Slots of one machine per kind of call. */
export const slotsPerMachine = 4;

/** The error of a call that lost its slot to newer ones. */
export const slotLost = (): PlatformError =>
  new PlatformError('TOO_MANY_REQUESTS', { limit: `${slotsPerMachine} newer ones of this machine wait for the same` });
