/** Leases jobs and hands them to an engine, several at once, until the signal. */
import type { Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { Cell, errorText, retry } from '@platform/kit';
import { isPassing } from '../cloud/queue.ts';
import type { Offer } from '../offer.ts';
import { attemptKey } from './attempt-order.ts';
import { dispatch, type Dispatching, type Known } from './dispatch.ts';

const waitMs = 25_000;

/** Throws what the server refuses for good, such as a wrong key; attempts under way are left to the engine then. */
export async function runDispatcher(
  to: Dispatching,
  { offer, jobsAtOnce }: { offer: Offer; jobsAtOnce: number },
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, queue, held } = to;
  const stop = new AbortController();
  const end = (): void => stop.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const active = new Cell<ReadonlyMap<string, Promise<void>>>(new Map());
  const jobIds = new Map<string, string>();
  const begin = (known: Known): void => {
    const key = attemptKey(known.job);
    if (active.get().has(key)) return;
    jobIds.set(key, known.job.id);
    const done = dispatch(to, known, stop.signal).finally(() => {
      jobIds.delete(key);
      active.update((before) => new Map([...before].filter(([other]) => other !== key)));
    });
    active.update((before) => new Map([...before, [key, done]]));
  };

  try {
    for (const known of await held.load()) {
      log.info('an attempt is taken over', { jobId: known.job.id, attempt: known.job.attempt, ref: known.ref });
      begin({ ...known, isTakenOver: true });
    }
    while (!stop.signal.aborted) {
      if (active.get().size >= jobsAtOnce) {
        await active.changed(stop.signal);
        continue;
      }
      const job = await leaseOne();
      if (job) begin({ job, ref: undefined, isTakenOver: false });
    }
  } finally {
    end();
    signal.removeEventListener('abort', end);
    await Promise.all(active.get().values());
  }

  async function leaseOne(): Promise<Job | undefined> {
    let isAway = false;
    const isRetryable = (error: unknown): boolean => {
      const again = isPassing(error);
      if (again && !isAway) log.warn('the server cannot be reached; trying again', { error: errorText(error) });
      isAway ||= again;
      return again;
    };
    const options = { clock, signal: stop.signal, attempts: Infinity, firstMs: 200, maxMs: 3_000, isRetryable };
    const asked = clock.now();
    try {
      const job = await retry((_, inner) => queue.lease(offer, waitMs, inner, [...jobIds.values()]), options);
      if (isAway) log.info('the server is there again');
      if (job) log.info('a job was leased', { jobId: job.id, attempt: job.attempt });
      // A server that answers at once is not asked without pause.
      else await clock.sleep(Math.max(0, 500 - (clock.now() - asked)), stop.signal);
      return job;
    } catch (error) {
      if (stop.signal.aborted) return undefined;
      throw error;
    }
  }
}
