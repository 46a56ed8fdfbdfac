/** Leases jobs and runs them, one or several at a time, until it is stopped or drained. */
import type { Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { objectOf } from '@platform/contract/text/json-object';
import { Cell, errorText, retry } from '@platform/kit';
import { runAttempt } from './attempt.ts';
import { isPassing } from './cloud/queue.ts';
import { GpuPool, gpusHere } from './gpus.ts';
import type { Workspace } from './workspace.ts';

const waitMs = 25_000;

export interface Orders {
  /** Aborted: running jobs are stopped. */
  readonly stop: AbortSignal;
  /** Aborted: running jobs finish, and the runner leases no more. */
  readonly drain: AbortSignal;
  /** Maximum number of concurrent jobs. */
  readonly jobs: number;
}

/** Throws an error that the server will not clear, such as a wrong key. */
export async function runRunner(workspace: Workspace, { stop, drain, jobs }: Orders): Promise<void> {
  const { log } = workspace;
  const running = new Cell<ReadonlyMap<Job, Promise<void>>>(new Map());
  // With several jobs, trimming could remove images of a job that is being prepared.
  const trim = (): Promise<number> => (running.get().size > 1 ? Promise.resolve(0) : workspace.cache.trim());
  const shared: Workspace = { ...workspace, cache: { ...workspace.cache, trim } };
  const all = gpusHere(workspace.env['CUDA_VISIBLE_DEVICES']);
  const pool = new GpuPool(all);
  const begin = (job: Job, now: Workspace): void => {
    const gpus = pool.take(Math.min(gpusOf(job), pool.free.length));
    // A job that requests no GPU may use those that are free.
    const visible = gpus.length > 0 ? gpus : pool.free;
    const env = all.length === 0 ? now.env : { ...now.env, CUDA_VISIBLE_DEVICES: visible.join(',') };
    const done = runAttempt({ ...now, env }, job, stop).finally(() => {
      pool.giveBack(gpus);
      running.update((before) => new Map([...before].filter(([other]) => other !== job)));
    });
    running.update((before) => new Map([...before, [job, done]]));
  };
  const enough = AbortSignal.any([stop, drain]);
  drain.addEventListener('abort', () => log.info('draining: no more jobs are taken'), { once: true });
  try {
    while (!enough.aborted) {
      if (running.get().size >= jobs) {
        await running.changed(enough);
        continue;
      }
      const jobIds = [...running.get().keys()].map((job) => job.id);
      const now = await refreshed(shared, stop);
      const offer = { ...now.offer, gpus: Math.min(now.offer.gpus, pool.free.length) };
      const job = await leaseOne({ ...now, offer }, jobIds, enough);
      // The long poll may have waited 25 s: probe the capabilities again.
      if (job) begin(job, await refreshed(now, stop));
    }
  } finally {
    await Promise.all(running.get().values());
  }
}

/** The workspace with the current capabilities of this host. */
async function refreshed(workspace: Workspace, stop: AbortSignal): Promise<Workspace> {
  try {
    return { ...workspace, ...(await workspace.capabilities?.(stop)) };
  } catch (error) {
    if (stop.aborted) return workspace;
    throw error;
  }
}

/** Number of GPUs that the job requests. */
function gpusOf({ spec }: Job): number {
  const gpus = objectOf(spec?.['limits'])?.['gpus'];
  return typeof gpus === 'number' ? gpus : 0;
}

/**
 * @param running - jobs that the runner already runs. @returns undefined when no job is available, or `signal`
 *   aborted.
 */
export async function leaseOne(
  { queue, offer, clock, log }: Pick<Workspace, 'queue' | 'offer' | 'clock' | 'log'>,
  running: readonly string[],
  signal: AbortSignal,
): Promise<Job | undefined> {
  let isAway = false;
  const isRetryable = (error: unknown): boolean => {
    const again = isPassing(error);
    if (again && !isAway) log.warn('the server cannot be reached; trying again', { error: errorText(error) });
    isAway ||= again;
    return again;
  };
  const options = { clock, signal, attempts: Infinity, firstMs: 200, maxMs: 3_000, isRetryable };
  const asked = clock.now();
  try {
    const job = await retry((_, inner) => queue.lease(offer, waitMs, inner, running), options);
    if (isAway) log.info('the server is there again');
    if (job) log.info('a job was leased', { jobId: job.id, attempt: job.attempt });
    // Limits the request rate to a server that answers without waiting.
    else await clock.sleep(Math.max(0, 500 - (clock.now() - asked)), signal);
    return job;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
