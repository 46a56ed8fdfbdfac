/** Reports the final status of an attempt to the queue. */
import { errorText, retry } from '@platform/kit';
import type { Effect, Event } from './attempt-life.ts';
import { isLeaseLost, isPassing, type AttemptId, type Queue } from './cloud/queue.ts';
import { failureOfRefusal } from './failures.ts';
import type { JobFiles } from './job/outputs.ts';
import type { Workspace } from './workspace.ts';

export type Ending = { do: 'complete'; files: JobFiles } | Extract<Effect, { do: 'fail' | 'confirmStop' }>;

/** Time limit of the retries during a shutdown. */
const shutdownMs = 3_000;

/** Retries while the server is unreachable; during a shutdown only for `shutdownMs`. */
export async function reportFinalStatus(
  { queue, clock, log }: Pick<Workspace, 'queue' | 'clock' | 'log'>,
  attempt: AttemptId,
  ending: Ending,
  shutdown: AbortSignal,
): Promise<Event> {
  const report = (signal: AbortSignal): Promise<void> =>
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
    await report(limit.signal);
    log.info('the job ended', { ...attempt, how: ending.do });
    return { is: 'reported' };
  } catch (error) {
    log.warn('the end of the job was not taken', { ...attempt, how: ending.do, error: errorText(error) });
    if (ending.do !== 'complete' || limit.signal.aborted) return { is: 'reported' };
    return isLeaseLost(error) ? { is: 'refused' } : { is: 'failed', failure: failureOfRefusal(error) };
  } finally {
    shutdown.removeEventListener('abort', listener);
    limit.abort();
  }
}

async function reportOnce(queue: Queue, attempt: AttemptId, ending: Ending, signal: AbortSignal): Promise<void> {
  switch (ending.do) {
    case 'complete':
      return queue.complete(attempt, ending.files, signal);
    case 'confirmStop':
      return queue.confirmStop(attempt, signal);
    case 'fail':
      await queue.fail(attempt, ending.failure, signal);
  }
}
