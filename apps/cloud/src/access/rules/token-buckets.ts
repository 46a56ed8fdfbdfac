/** Capacity and refill of a token bucket. Infinity: no limit. */
export type Rate = { perSecond: number; burst: number };

type Bucket = { level: number; at: number };

/**
 * One token bucket per key, charged afterwards. A call may begin while any tokens are left, and pays when its cost is
 * known. The level never falls below minus one burst, so that one large message does not block a caller for hours.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #most: number;
  readonly #least: number;
  readonly #buckets = new Map<string, Bucket>();

  /**
   * @param most - buckets in memory. Full buckets are dropped first, because a new bucket is full, too.
   * @param least - tokens that a call needs to begin: where a token takes minutes, a part of one does not suffice.
   */
  constructor(rate: Rate, most = 100_000, least: 0 | 1 = 0) {
    this.#rate = rate;
    this.#most = most;
    // A whole token is reached up to the rounding of its parts.
    this.#least = Math.max(0, least - 1e-6);
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** ms until this key may begin again; 0: now. `now`: ms of monotonic time. */
  waitMs(key: string, now: number): number {
    const bucket = this.#buckets.get(key);
    return bucket ? this.#waitMs(this.#levelOf(bucket, now)) : 0;
  }

  charge(key: string, amount: number, now: number): void {
    if (this.#rate.perSecond === Infinity) return;
    this.#spend(this.#bucket(key, now), amount, now);
  }

  /** Charges a key that may begin now, with one look-up instead of two on the fast path. @returns like `waitMs`. */
  take(key: string, amount: number, now: number): number {
    if (this.#rate.perSecond === Infinity) return 0;
    const bucket = this.#bucket(key, now);
    const level = this.#levelOf(bucket, now);
    if (level <= this.#least) return this.#waitMs(level);
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
    return level > this.#least ? 0 : Math.ceil(((1 - level) / this.#rate.perSecond) * 1_000);
  }

  /** Drops full buckets. If that is not enough, drops the least recently used half. */
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
