import type { Clock } from './clock.ts';

/** Smaller differences are drift, or a time server that slews the clock. */
const stepMs = 2_000;
/** This platform recorded nothing before this instant: an earlier time comes from a clock without a battery. */
export const firstWall = Date.UTC(2025, 0, 1);
const dayMs = 86_400_000;

/**
 * Converts recorded times to current wall time after the clock was set. A time from before the step moves with it, so
 * that its age stays the same. Impossible times become undefined.
 */
export class WallHistory {
  readonly #clock: Pick<Clock, 'now' | 'wall'>;
  readonly #startedAt: number;
  /** Wall time minus monotonic time. */
  #offset: number;
  #steps: { at: number; from: number; to: number }[] = [];

  constructor(clock: Pick<Clock, 'now' | 'wall'>) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#offset = clock.wall() - clock.now();
  }

  /** Records whether the clock was set since the last call. */
  observe(): void {
    const at = this.#clock.now();
    const to = this.#clock.wall() - at;
    const from = this.#offset;
    this.#offset = to;
    if (Math.abs(to - from) >= stepMs) this.#steps.push({ at, from, to });
  }

  /** The recorded time in current wall time, never in the future; undefined if unknown. */
  since(noted: number): number | undefined {
    this.observe();
    let wall = noted;
    for (const { at, from, to } of this.#steps) {
      const isOfThen = wall >= from + this.#startedAt - stepMs && wall <= from + at + stepMs;
      if (isOfThen) wall = Math.round(wall + to - from);
    }
    if (wall < firstWall) return undefined;
    const now = this.#clock.wall();
    return wall > now + dayMs ? Math.round(now) : wall; // another host's clock was ahead
  }
}
