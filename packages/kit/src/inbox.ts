import type { Clock } from './clock.ts';

const noReader = (): void => {};

/** A queue of events, in order, for one reader. */
export class Inbox<E> {
  readonly #queue: E[] = [];
  #wake = noReader;

  readonly push = (event: E): void => {
    this.#queue.push(event);
    this.#wake();
  };

  get size(): number {
    return this.#queue.length;
  }

  /** The next event; undefined if `due` (an instant of `clock.now()`) or the abort comes first. */
  async take(due: number, clock: Clock, signal: AbortSignal): Promise<E | undefined> {
    while (this.#queue.length === 0 && !signal.aborted) {
      const ms = due - clock.now();
      if (ms <= 0) break;
      const stop = new AbortController();
      const end = () => stop.abort();
      signal.addEventListener('abort', end, { once: true });
      const pushed = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([pushed, clock.sleep(ms, stop.signal)]);
      this.#wake = noReader;
      signal.removeEventListener('abort', end);
      end();
    }
    return this.#queue.shift();
  }
}
