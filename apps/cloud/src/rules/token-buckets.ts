/** What may be used: so much at once, and so much a second after that. Infinity: no limit. */
export type Rate = { perSecond: number; burst: number };

type Bucket = { level: number; at: number };

/**
 * A token bucket for each key, paid afterwards: who has something left may begin, what it costs is charged when it is known. The level
 * may go below zero, at most by one burst, so that one large message locks nobody out for hours.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #most: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param most - buckets in memory; a full bucket is not worth any. */
  constructor(rate: Rate, most = 100_000) {
    this.#rate = rate;
    this.#most = most;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** ms until this key may begin again; 0: now. `now` in ms of a clock that only goes forward. */
  waitMs(key: string, now: number): number {
    const level = this.#level(key, now);
    return level > 0 ? 0 : Math.ceil(((1 - level) / this.#rate.perSecond) * 1_000);
  }

  charge(key: string, amount: number, now: number): void {
    const { perSecond, burst } = this.#rate;
    if (perSecond === Infinity) return;
    const level = Math.max(this.#level(key, now) - amount, -burst);
    // The keys used last are at the end.
    this.#buckets.delete(key);
    this.#buckets.set(key, { level, at: now });
    if (this.#buckets.size > this.#most) this.#shrink(now);
  }

  #level(key: string, now: number): number {
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key);
    return bucket ? Math.min(burst, bucket.level + ((now - bucket.at) / 1_000) * perSecond) : burst;
  }

  /** Forgets full buckets. Where that is not enough: the half that was not used for longest. */
  #shrink(now: number): void {
    for (const key of this.#buckets.keys()) if (this.#level(key, now) >= this.#rate.burst) this.#buckets.delete(key);
    if (this.#buckets.size <= this.#most / 2) return;
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= this.#most / 2) return;
      this.#buckets.delete(key);
    }
  }
}
