/** Leases one job after the other, until the signal. */
import { errorText, retry } from '@platform/kit';
import { isPassing } from './cloud/queue.ts';
import { runAttempt } from './attempt.ts';
import type { Workshop } from './workshop.ts';

const waitMs = 25_000;

/** Throws what the server refuses for good, such as a wrong key. */
export async function runRunner(workshop: Workshop, signal: AbortSignal): Promise<void> {
  const { queue, offer, clock, log } = workshop;
  let isAway = false;
  const isRetryable = (error: unknown): boolean => {
    const again = isPassing(error);
    if (again && !isAway) log.warn('the server cannot be reached; trying again', { error: errorText(error) });
    isAway ||= again;
    return again;
  };
  while (!signal.aborted) {
    const lease = (_: number, inner: AbortSignal) => queue.lease(offer, waitMs, inner);
    const options = { clock, signal, attempts: Infinity, firstMs: 200, maxMs: 3_000, isRetryable };
    const asked = clock.now();
    const job = await retry(lease, options).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (isAway && !signal.aborted) log.info('the server is there again');
    isAway = false;
    if (!job) {
      // A server that answers at once is not asked without pause.
      await clock.sleep(Math.max(0, 500 - (clock.now() - asked)), signal);
      continue;
    }
    log.info('a job was leased', { jobId: job.id, attempt: job.attempt });
    await runAttempt(workshop, job, signal);
  }
}
