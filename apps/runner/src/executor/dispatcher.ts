/** Leases jobs and submits them to an engine, several at once, until it is stopped or drained. */
import { Cell } from '@platform/kit';
import type { RunnerCapabilities } from '../local-capabilities.ts';
import { leaseOne, type Orders } from '../run-runner.ts';
import { attemptKey } from './attempt-order.ts';
import { dispatch, type Dispatching, type DispatchedAttempt } from './dispatch.ts';

interface Active {
  readonly jobId: string;
  readonly done: Promise<void>;
}

/** Throws an error that the server will not clear, such as a wrong key; the engine keeps the running attempts. */
export async function runDispatcher(
  to: Dispatching,
  offer: RunnerCapabilities,
  { stop, drain, jobs }: Orders,
): Promise<void> {
  const { log, held } = to;
  const active = new Cell<ReadonlyMap<string, Active>>(new Map());
  const broken = new AbortController();
  const ending = AbortSignal.any([stop, broken.signal]);
  const begin = (known: DispatchedAttempt): void => {
    const key = attemptKey(known.job);
    const done = dispatch(to, known, ending).finally(() =>
      active.update((before) => new Map([...before].filter(([other]) => other !== key))),
    );
    active.update((before) => new Map([...before, [key, { jobId: known.job.id, done }]]));
  };
  const enough = AbortSignal.any([stop, drain]);
  drain.addEventListener('abort', () => log.info('draining: no more jobs are taken'), { once: true });
  try {
    for (const known of await held.load()) {
      log.info('an attempt is taken over', { jobId: known.job.id, attempt: known.job.attempt, ref: known.ref });
      begin({ ...known, isTakenOver: true });
    }
    while (!enough.aborted) {
      if (active.get().size >= jobs) {
        await active.changed(enough);
        continue;
      }
      const running = [...active.get().values()].map(({ jobId }) => jobId);
      const job = await leaseOne({ ...to, offer }, running, enough);
      if (job && !active.get().has(attemptKey(job))) begin({ job, ref: undefined, isTakenOver: false });
    }
  } catch (error) {
    broken.abort();
    throw error;
  } finally {
    await Promise.all([...active.get().values()].map(({ done }) => done));
  }
}
