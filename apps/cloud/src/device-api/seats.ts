import { PlatformError } from '@platform/contract/errors';

/**
 * Who may wait for the same thing at once: the newest few. One alone would be too few, as a connection that broke unseen leaves its call
 * behind for a while; without an end, one machine that asks again and again would take the connections of all others.
 */
export type Seats = {
  /** @param sendAway - called at most once, when newer ones have come. @returns gives the seat back. */
  take(key: string, sendAway: () => void): () => void;
};

export function seats(most: number): Seats {
  const taken = new Map<string, readonly (() => void)[]>();
  const without = (key: string, one: () => void): void => {
    const left = (taken.get(key) ?? []).filter((other) => other !== one);
    if (left.length > 0) taken.set(key, left);
    else taken.delete(key);
  };
  return {
    take(key, sendAway) {
      const all = [...(taken.get(key) ?? []), sendAway];
      taken.set(key, all.slice(-most));
      if (all.length > most) all[0]?.();
      return () => without(key, sendAway);
    },
  };
}

/** Newest calls of one machine that wait for the same. */
export const seatsOfMachine = 4;

/** What is told to whom newer ones have sent away. */
export const tooManyWait = (): PlatformError =>
  new PlatformError('TOO_MANY_REQUESTS', { limit: `${seatsOfMachine} newer ones of this machine wait for the same` });
