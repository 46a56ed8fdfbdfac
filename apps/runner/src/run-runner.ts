/** Leases jobs and runs them, one or several at a time, until it is stopped or drained. */
import type { Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { objectOf } from '@platform/contract/json-object';
import { Cell, errorText, retry } from '@platform/kit';
import { runAttempt } from './attempt.ts';
import { isPassing } from './cloud/queue.ts';
import { GpuPool, gpusHere } from './gpus.ts';
import type { Workspace } from './workspace.ts';

const waitMs = 25_000;

export interface Orders {
  /** Ends what runs. */
  readonly stop: AbortSignal;
  /** Lets what runs come to its end, and takes nothing more. */
  readonly drain: AbortSignal;
  /** Most jobs at a time. */
  readonly jobs: number;
}

/** Throws what the server refuses for good, such as a wrong key. */
export async function runRunner(workspace: Workspace, { stop, drain, jobs }: Orders): Promise<void> {
  const { log } = workspace;
  const running = new Cell<ReadonlyMap<Job, Promise<void>>>(new Map());
  // Images of a job that is being prepared must not be trimmed away under it.
  const trim = (): Promise<number> => (running.get().size > 1 ? Promise.resolve(0) : workspace.cache.trim());
  const shared: Workspace = { ...workspace, cache: { ...workspace.cache, trim } };
  const all = gpusHere(workspace.env['CUDA_VISIBLE_DEVICES']);
  const pool = new GpuPool(all);
  const begin = (job: Job, now: Workspace): void => {
    const gpus = pool.take(Math.min(gpusOf(job), pool.free.length));
    // A job that asked for none may try one that nobody has.
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
      // The call may have been held for long.
      if (job) begin(job, await refreshed(now, stop));
    }
  } finally {
    await Promise.all(running.get().values());
  }
}

/** With what this host can run now. */
async function refreshed(workspace: Workspace, stop: AbortSignal): Promise<Workspace> {
  try {
    return { ...workspace, ...(await workspace.capabilities?.(stop)) };
  } catch (error) {
    if (stop.aborted) return workspace;
    throw error;
  }
}

/** How many the job asks for. */
function gpusOf({ spec }: Job): number {
  const gpus = objectOf(spec?.['limits'])?.['gpus'];
  return typeof gpus === 'number' ? gpus : 0;
}

/** @param running - jobs in hand. @returns undefined when there was none, or `signal` aborted. */
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
    // A server that answers at once is not asked without pause.
    else await clock.sleep(Math.max(0, 500 - (clock.now() - asked)), signal);
    return job;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
