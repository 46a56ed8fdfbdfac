import type { Clock } from './clock.ts';

/** One observable value. Use immutable values: a change is a new value, compared by identity. */
export class Cell<T> {
  #value: T;
  readonly #waiting = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  /** Setting the identical value again notifies no waiter. */
  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const wake of this.#waiting) wake();
  }

  update(f: (value: T) => T): void {
    this.set(f(this.#value));
  }

  /** Resolves at the next change or when `signal` aborts; never rejects. */
  changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Number of waiters; tests use it to detect leaks. */
  get listeners(): number {
    return this.#waiting.size;
  }
}

/** Sets a value that JSON can hold, unless the cell holds an equal one. */
export function setIfDifferent<T>(cell: Cell<T>, value: T): void {
  if (JSON.stringify(value) !== JSON.stringify(cell.get())) cell.set(value);
}

/** Resolves when a cell changes, `ms` have passed or `signal` aborts; leaves neither timer nor listener behind. */
export const changedOr = (
  cells: Cell<unknown> | readonly Cell<unknown>[],
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => firstOf((over) => [...changesOf([cells].flat(), over), clock.sleep(ms, over)], signal);

/** Resolves when one of the cells changes or `signal` aborts; leaves no listener behind. */
export const anyChanged = (cells: readonly Cell<unknown>[], signal: AbortSignal): Promise<void> =>
  firstOf((over) => changesOf(cells, over), signal);

const changesOf = (cells: readonly Cell<unknown>[], over: AbortSignal): Promise<void>[] =>
  cells.map((cell) => cell.changed(over));

async function firstOf(waits: (over: AbortSignal) => Promise<void>[], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const done = new AbortController();
  const stop = () => done.abort();
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race(waits(done.signal));
  signal.removeEventListener('abort', stop);
  stop();
}
