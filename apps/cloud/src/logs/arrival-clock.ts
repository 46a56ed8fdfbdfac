import type { Clock } from '@platform/kit';

/**
 * The time when lines arrive. It is never behind the time that this installation reached before: a host without a
 * battery starts with an old date, and lines that were stored by that date would be dropped once it is right.
 */
export class ArrivalClock {
  readonly #clock: Pick<Clock, 'now' | 'wall'>;
  readonly #readLatest: () => Promise<number | undefined>;
  #read: Promise<{ latest: number; monotonic: number }> | undefined;

  /** @param readLatest - the time that was reached before, ms since 1970; undefined: none is stored. */
  constructor(clock: Pick<Clock, 'now' | 'wall'>, readLatest: () => Promise<number | undefined>) {
    this.#clock = clock;
    this.#readLatest = readLatest;
  }

  /** ms since 1970. */
  async now(): Promise<number> {
    const { latest, monotonic } = await (this.#read ??= this.#readOnce());
    return Math.max(this.#clock.wall(), latest + this.#clock.now() - monotonic);
  }

  async #readOnce(): Promise<{ latest: number; monotonic: number }> {
    try {
      const latest = (await this.#readLatest()) ?? Number.NEGATIVE_INFINITY;
      return { latest, monotonic: this.#clock.now() };
    } catch (error) {
      this.#read = undefined;
      throw error;
    }
  }
}
