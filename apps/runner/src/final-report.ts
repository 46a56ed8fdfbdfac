/** Reports the final status of an attempt to the queue. */
import { errorText, retry } from '@platform/kit';
import type { Effect, Event } from './attempt-life.ts';
import { isLeaseLost, isPassing, type AttemptId, type Queue } from './cloud/queue.ts';
import { failureOfRefusal } from './failures.ts';
import type { JobFiles } from './job/outputs.ts';
import type { Workspace } from './workspace.ts';

export type AttemptResult = { do: 'complete'; files: JobFiles } | Extract<Effect, { do: 'fail' | 'confirmStop' }>;

/** Time limit of the retries during a shutdown. */
const shutdownMs = 3_000;

export interface Reported {
  readonly event: Event;
  /** The server retries the job no more. False also while that is not known. */
  readonly isJobOver: boolean;
}

/** Retries while the server is unreachable; during a shutdown only for `shutdownMs`. */
export async function reportFinalStatus(
  { queue, clock, log }: Pick<Workspace, 'queue' | 'clock' | 'log'>,
  attempt: AttemptId,
  ending: AttemptResult,
  shutdown: AbortSignal,
): Promise<Reported> {
  const report = (signal: AbortSignal): Promise<boolean> =>
    retry((_, inner) => reportOnce(queue, attempt, ending, inner), {
      clock,
      signal,
      attempts: Infinity,
      maxMs: 5_000,
      isRetryable: isPassing,
    });
  const limit = new AbortController();
  const onShutdown = async (): Promise<void> => {
    await clock.sleep(shutdownMs, limit.signal);
    limit.abort();
  };
  const listener = (): void => void onShutdown();
  shutdown.addEventListener('abort', listener, { once: true });
  if (shutdown.aborted) listener();
  try {
    const isJobOver = await report(limit.signal);
    log.info('the job ended', { ...attempt, how: ending.do });
    return { event: { is: 'reported' }, isJobOver };
  } catch (error) {
    log.warn('the end of the job was not taken', { ...attempt, how: ending.do, error: errorText(error) });
    return { event: eventAfter(error, ending, limit.signal.aborted), isJobOver: false };
  } finally {
    shutdown.removeEventListener('abort', listener);
    limit.abort();
  }
}

function eventAfter(error: unknown, ending: AttemptResult, isOutOfTime: boolean): Event {
  if (ending.do !== 'complete' || isOutOfTime) return { is: 'reported' };
  return isLeaseLost(error) ? { is: 'refused' } : { is: 'failed', failure: failureOfRefusal(error) };
}

/** @returns whether the job is over. */
async function reportOnce(
  queue: Queue,
  attempt: AttemptId,
  ending: AttemptResult,
  signal: AbortSignal,
): Promise<boolean> {
  switch (ending.do) {
    case 'complete':
      await queue.complete(attempt, ending.files, signal);
      return true;
    case 'confirmStop':
      await queue.confirmStop(attempt, signal);
      return true;
    case 'fail':
      return !(await queue.fail(attempt, ending.failure, signal)).willRetry;
  }
}
