import { errorText } from '@platform/kit';
import type { Clock } from '@platform/kit';

interface Failure {
  readonly problem: string;
  readonly error: unknown;
  readonly count: number;
  /** Instant of `clock.now()`; Infinity: no further attempt. */
  readonly restsUntil: number;
}

const firstRestMs = 1000;
const maxRestMs = 10 * 60_000;

/** Failed attempts by key, with exponential backoff: 1 s, doubling up to 10 minutes. */
export class Attempts {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(key: string, error: unknown): void {
    const problem = errorText(error);
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const rest = Math.min(firstRestMs * 2 ** (count - 1), maxRestMs);
    this.#failures.set(key, { problem, error, count, restsUntil: this.#clock.now() + rest });
  }

  gaveUp(key: string, error: unknown): void {
    this.#failures.set(key, { problem: errorText(error), error, count: 1, restsUntil: Infinity });
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  /** Keys that are in backoff. */
  resting(): ReadonlySet<string> {
    const now = this.#clock.now();
    return new Set([...this.#failures].filter(([, { restsUntil }]) => restsUntil > now).map(([key]) => key));
  }

  /** Message of the last failure of `key`; undefined if it has not failed. */
  problem(key: string): string | undefined {
    return this.#failures.get(key)?.problem;
  }

  /** The last failure of `key`. */
  error(key: string): unknown {
    return this.#failures.get(key)?.error;
  }
}
