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
    const bucket = this.#buckets.get(key);
    return bucket ? this.#waitMs(this.#levelOf(bucket, now)) : 0;
  }

  charge(key: string, amount: number, now: number): void {
    if (this.#rate.perSecond === Infinity) return;
    this.#spend(this.#bucket(key, now), amount, now);
  }

  /** Charges a key that may begin now. One look-up, for calls that cost less than two. @returns as `waitMs`. */
  take(key: string, amount: number, now: number): number {
    if (this.#rate.perSecond === Infinity) return 0;
    const bucket = this.#bucket(key, now);
    const level = this.#levelOf(bucket, now);
    if (level <= 0) return this.#waitMs(level);
    this.#spend(bucket, amount, now);
    return 0;
  }

  #bucket(key: string, now: number): Bucket {
    const found = this.#buckets.get(key);
    if (found) return found;
    if (this.#buckets.size >= this.#most) this.#shrink(now);
    const made = { level: this.#rate.burst, at: now };
    this.#buckets.set(key, made);
    return made;
  }

  #spend(bucket: Bucket, amount: number, now: number): void {
    bucket.level = Math.max(this.#levelOf(bucket, now) - amount, -this.#rate.burst);
    bucket.at = now;
  }

  #levelOf({ level, at }: Bucket, now: number): number {
    const { perSecond, burst } = this.#rate;
    return Math.min(burst, level + ((now - at) / 1_000) * perSecond);
  }

  #waitMs(level: number): number {
    return level > 0 ? 0 : Math.ceil(((1 - level) / this.#rate.perSecond) * 1_000);
  }

  /** Forgets full buckets. Where that is not enough: the half that was not used for longest. */
  #shrink(now: number): void {
    for (const [key, bucket] of this.#buckets)
      if (this.#levelOf(bucket, now) >= this.#rate.burst) this.#buckets.delete(key);
    const surplus = this.#buckets.size - Math.floor(this.#most / 2);
    if (surplus <= 0) return;
    const times = Float64Array.from(this.#buckets.values(), ({ at }) => at).toSorted();
    const limit = times[surplus - 1] ?? now;
    for (const [key, { at }] of this.#buckets) if (at <= limit) this.#buckets.delete(key);
  }
}
