import type { Clock } from '../clock.ts';

/** A clock that only the test moves. Starts at 0; the wall clock at 2026-01-01T00:00Z. */
export class FakeClock implements Clock {
  #now = 0;
  #wallAhead: number;
  #timers: { at: number; ring: () => void }[] = [];

  constructor(wall = 1_767_225_600_000) {
    this.#wallAhead = wall;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#wallAhead + this.#now;
  }

  /** Moves the wall clock only; the monotonic clock stays. */
  jumpWall(ms: number): void {
    this.#wallAhead += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const timer = {
        at: this.#now + ms,
        ring: () => {
          this.#timers = this.#timers.filter((t) => t !== timer);
          signal?.removeEventListener('abort', timer.ring);
          resolve();
        },
      };
      this.#timers.push(timer);
      signal?.addEventListener('abort', timer.ring, { once: true });
    });
  }

  /** Number of pending timers; 0 at the end of a test shows that it leaked none. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Advances the time by `ms`: fires the due timers in order, and runs pending promises after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (;;) {
      const [next] = this.#timers.filter((t) => t.at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      next.ring();
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /** Runs pending promises without advancing the time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
