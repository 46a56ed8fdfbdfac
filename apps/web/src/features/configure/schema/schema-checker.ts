// Runs the checks of attributes in a worker that is ended when a check takes too long.
import type { Clock } from '@platform/kit';
import type { AttributeProblem } from './schema-check.ts';

export interface CheckJob {
  /** Equal for equal schemas: one that took too long is not tried again. */
  readonly key: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}
export type CheckAnswer =
  | { readonly problems: readonly AttributeProblem[] }
  /** Why nothing was checked; a clause without a period. */
  | { readonly unchecked: string };

/** A worker for one check at a time. */
export interface CheckWorker {
  /** Its program has loaded; rejects when it cannot. */
  readonly ready: Promise<void>;
  check(job: Pick<CheckJob, 'schema' | 'value'>): Promise<CheckAnswer>;
  end(): void;
}

const checkLimitMs = 1_000;
const tooLong = 'its schema takes more than 1 second to evaluate';

export class SchemaChecker {
  readonly #start: () => CheckWorker;
  readonly #clock: Clock;
  #worker: CheckWorker | undefined;
  readonly #slow = new Set<string>();
  /** The last check: the worker does one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(start: () => CheckWorker, clock: Clock) {
    this.#start = start;
    this.#clock = clock;
  }

  check(job: CheckJob, signal: AbortSignal): Promise<CheckAnswer> {
    const next = this.#last.then(() => this.#checkNow(job, signal));
    this.#last = next;
    return next;
  }

  /** Ends the worker; a later check starts another one. */
  end(): void {
    this.#worker?.end();
    this.#worker = undefined;
  }

  async #checkNow({ key, schema, value }: CheckJob, signal: AbortSignal): Promise<CheckAnswer> {
    if (this.#slow.has(key)) return { unchecked: tooLong };
    if (signal.aborted) return { unchecked: 'the check was ended' };
    const worker = (this.#worker ??= this.#start());
    try {
      await worker.ready;
    } catch {
      this.end();
      return { unchecked: 'the program that checks it did not load' };
    }
    const done = new AbortController();
    const limit = this.#clock.sleep(checkLimitMs, done.signal).then(() => undefined);
    const answer = await Promise.race([worker.check({ schema, value }), limit]);
    done.abort();
    if (answer !== undefined) return answer;
    this.end();
    this.#slow.add(key);
    return { unchecked: tooLong };
  }
}
