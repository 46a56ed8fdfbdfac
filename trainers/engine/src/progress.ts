import type { JobPhase } from '@platform/contract/job/job';
import type { Clock } from './clock.ts';
import type { Events } from './events.ts';

export interface Work {
  phase: JobPhase;
  /** Expected seconds, in any unit of speed: only the proportions between the parts matter. */
  cost: number;
}

/** Reports the progress of the whole job, and the ETA at the speed so far. */
export class Progress {
  readonly #parts = new Map<string, Work>();
  readonly #done = new Map<string, number>();
  readonly #events: Events;
  readonly #clock: Clock;
  readonly #started: number;
  #reportedAt = -Infinity;

  constructor(events: Events, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
    this.#started = clock.now();
  }
  plan(part: string, work: Work): void {
    this.#parts.set(part, work);
  }
  /** @param share - 0..1 of the part. Emits at most every 300 ms, and at the end of each part. */
  update(part: string, share: number): void {
    this.#done.set(part, share);
    const now = this.#clock.now();
    const work = this.#parts.get(part);
    if (!work || (share < 1 && now - this.#reportedAt < 300)) return;
    this.#reportedAt = now;
    let [total, done] = [0, 0];
    for (const [name, { cost }] of this.#parts) {
      total += cost;
      done += cost * (this.#done.get(name) ?? 0);
    }
    const progress = Math.min(1, done / total);
    const seconds = (now - this.#started) / 1000;
    const eta = progress > 0.02 ? { eta_seconds: round((seconds / progress) * (1 - progress)) } : {};
    this.#events.emit({ is: 'progress', phase: work.phase, progress: round(progress, 4), ...eta });
  }
}

export function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}
