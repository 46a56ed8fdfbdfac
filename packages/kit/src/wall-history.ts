import type { Clock } from './clock.ts';

/** Less is drift, or a time server that sets the clock softly. */
const stepMs = 2_000;
/** Nothing of this platform was noted before: that was a clock without a battery. */
export const firstWall = Date.UTC(2025, 0, 1);
const dayMs = 86_400_000;

/**
 * Since when something is so, told in wall time after the clock was set. A time that was noted before the step moves with it:
 * how long ago it was stays what it is. Times that cannot be are unknown.
 */
export class WallHistory {
  readonly #clock: Pick<Clock, 'now' | 'wall'>;
  readonly #startedAt: number;
  /** Wall time less monotonic time. */
  #offset: number;
  #steps: { at: number; from: number; to: number }[] = [];

  constructor(clock: Pick<Clock, 'now' | 'wall'>) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#offset = clock.wall() - clock.now();
  }

  /** Notes whether the clock was set since the last time. */
  observe(): void {
    const at = this.#clock.now();
    const to = this.#clock.wall() - at;
    const from = this.#offset;
    this.#offset = to;
    if (Math.abs(to - from) >= stepMs) this.#steps.push({ at, from, to });
  }

  /** In today's wall time, never in the future; undefined: nobody knows. */
  since(noted: number): number | undefined {
    this.observe();
    let wall = noted;
    for (const { at, from, to } of this.#steps) {
      const isOfThen = wall >= from + this.#startedAt - stepMs && wall <= from + at + stepMs;
      if (isOfThen) wall = Math.round(wall + to - from);
    }
    if (wall < firstWall) return undefined;
    const now = this.#clock.wall();
    return wall > now + dayMs ? Math.round(now) : wall; // somebody's clock was ahead
  }
}
