import type { Clock } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors/errors';

/**
 * At most `most` searches run at once, so that they leave the connections of the database to machines. Others wait for
 * their turn.
 */
export class SearchSlots {
  #running = 0;
  readonly #waiting = new Set<() => void>();
  readonly #of: { clock: Clock; most: number; waitMs: number };

  constructor(of: { clock: Clock; most: number; waitMs: number }) {
    this.#of = of;
  }

  /** @throws PlatformError LOG_SEARCH_BUSY */
  async run<T>(signal: AbortSignal, search: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await search();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    const { clock, most, waitMs } = this.#of;
    if (this.#running < most) {
      this.#running++;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.add(turn.resolve);
    const done = new AbortController();
    await Promise.race([turn.promise, clock.sleep(waitMs, AbortSignal.any([signal, done.signal]))]);
    done.abort();
    // Whoever no longer waits was given the slot of another search.
    if (this.#waiting.delete(turn.resolve))
      throw new PlatformError('LOG_SEARCH_BUSY', { searches: most, seconds: waitMs / 1_000 });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
