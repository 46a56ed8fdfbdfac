/** Reports the progress of one attempt to the queue and receives its orders. */
import type { JobEvent } from '@platform/contract/job/job';
import { Cell, changedOr, errorText, retry, type Clock, type Log } from '@platform/kit';
import {
  isLeaseLost,
  isPassing,
  type AttemptId,
  type LogEntry,
  type MetricEntry,
  type Queue,
  type JobProgress,
} from './cloud/queue.ts';

export type Order = { is: 'stopOrdered' } | { is: 'leaseLost' };

/** Well below the duration of the lease: one lost call must not end it. */
const heartbeatMs = 5_000;
/** How long lines are batched before they are sent. */
const collectMs = 400;
const retryMs = 1_000;
const linesAtOnce = 2_000;
/** Retries of the final report: about 15 s in total, longer than a server needs to restart. */
const lastAttempts = 10;
/** Buffer limit while the server is unreachable; the reporter drops further lines. */
const mostKept = 20_000;

export class Reporter {
  readonly #queue: Queue;
  readonly #attempt: AttemptId;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #turns = new Cell(0);
  #standing: JobProgress = { phase: 'preparing', progress: 0, etaMs: undefined };
  #logs: LogEntry[] = [];
  #metrics: MetricEntry[] = [];
  #sequence = 0;
  #dropped = 0;
  /** The last turn whose report the server has confirmed. */
  #reportedTurn = 0;

  constructor(queue: Queue, attempt: AttemptId, { clock, log }: { clock: Clock; log: Log }) {
    this.#queue = queue;
    this.#attempt = attempt;
    this.#clock = clock;
    this.#log = log;
  }

  stand(standing: JobProgress): void {
    this.#standing = standing;
    this.#turns.update((turn) => turn + 1);
  }
  line(level: string, message: string, time = this.#clock.wall()): void {
    if (this.#logs.length >= mostKept) {
      this.#dropped++;
      return;
    }
    this.#logs.push({ sequence: ++this.#sequence, time, level, message });
    this.#turns.update((turn) => turn + 1);
  }
  metric(values: Readonly<Record<string, number | string>>, time = this.#clock.wall()): void {
    if (this.#metrics.length >= mostKept) return;
    this.#metrics.push({ sequence: ++this.#sequence, time, values });
    this.#turns.update((turn) => turn + 1);
  }
  /** @param share - maps the trainer's progress to that of the whole job. */
  event(event: JobEvent, share: (progress: number) => number): void {
    const time = Date.parse(event.time);
    switch (event.is) {
      case 'progress': {
        const etaMs = event.eta_seconds === undefined ? undefined : event.eta_seconds * 1000;
        this.stand({ phase: event.phase, progress: share(event.progress), etaMs });
        return;
      }
      case 'metric':
        this.metric(event.values, time);
        return;
      case 'log':
        this.line(event.level, event.message, time);
        return;
      case 'warning':
        this.line('warn', event.message, time);
        return;
      case 'error':
        this.line('error', `${event.code}: ${event.message}`, time);
    }
  }

  /** Runs until the signal: a long poll receives orders while other calls send reports. */
  async run(onOrder: (order: Order) => void, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#listen(onOrder, signal), this.#sendChanges(onOrder, signal)]);
  }
  /** Sends the remaining lines and the last progress; gives up on a server that stays unreachable. */
  async flush(signal: AbortSignal): Promise<void> {
    const isLeft = (): boolean =>
      this.#logs.length + this.#metrics.length > 0 || this.#reportedTurn !== this.#turns.get();
    const options = { clock: this.#clock, signal, attempts: lastAttempts, maxMs: 5_000, isRetryable: isPassing };
    try {
      while (isLeft()) await retry((_, inner) => this.#send(inner), options);
    } catch (error) {
      this.#log.warn('the last lines of the job were not sent', { error: errorText(error) });
    }
  }

  async #listen(onOrder: (order: Order) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const started = this.#clock.now();
      const news = { ...this.#standing, logs: [], metrics: [] };
      const order = await this.#call(() => this.#queue.report(this.#attempt, news, heartbeatMs, signal), signal);
      if (order && !signal.aborted) onOrder(order);
      // Rate-limits the polls to a server that answers at once or has already given its order.
      const early = retryMs - (this.#clock.now() - started);
      if (early > 0) await this.#clock.sleep(early, signal);
    }
  }
  async #sendChanges(onOrder: (order: Order) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const seen = this.#turns.get();
      const order = await this.#call(() => this.#send(signal), signal);
      if (order && !signal.aborted) onOrder(order);
      if (this.#turns.get() === seen) await changedOr(this.#turns, Infinity, this.#clock, signal);
      await this.#clock.sleep(order ? retryMs : collectMs, signal);
    }
  }
  async #send(signal: AbortSignal): Promise<{ stop: boolean }> {
    const turn = this.#turns.get();
    const logs = this.#logs.slice(0, linesAtOnce);
    const metrics = this.#metrics.slice(0, linesAtOnce);
    const answer = await this.#queue.report(this.#attempt, { ...this.#standing, logs, metrics }, 0, signal);
    // Sequence numbers make it safe to resend lines whose response was lost.
    this.#logs = this.#logs.slice(logs.length);
    this.#metrics = this.#metrics.slice(metrics.length);
    this.#reportedTurn = turn;
    if (this.#dropped > 0) {
      const message = `${this.#dropped} lines were dropped while the server could not take them.`;
      this.#dropped = 0;
      this.line('warn', message);
    }
    return answer;
  }
  async #call(f: () => Promise<{ stop: boolean }>, signal: AbortSignal): Promise<Order | undefined> {
    try {
      return (await f()).stop ? { is: 'stopOrdered' } : undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isLeaseLost(error)) return { is: 'leaseLost' };
      // Only the server decides that a lease is over; until then the attempt continues.
      this.#log.warn('the report did not arrive', { ...this.#attempt, error: errorText(error) });
      await this.#clock.sleep(retryMs, signal);
      return undefined;
    }
  }
}
