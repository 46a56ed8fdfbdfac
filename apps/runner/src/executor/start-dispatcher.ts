import type { Clock, Log } from '@platform/kit';
import type { Queue } from '../cloud/queue.ts';
import { localOffer, type Offer } from '../offer.ts';
import type { RunnerOptions } from '../options.ts';
import type { Trainers } from '../trainer/command.ts';
import { version } from '../version.ts';
import { formatOrder } from './attempt-order.ts';
import { usualPatience } from './dispatch-life.ts';
import { runDispatcher } from './dispatcher.ts';
import { heldAttempts } from './held-attempts.ts';
import { makeEngine } from './make-engine.ts';

export interface Wiring {
  readonly queue: Queue;
  readonly runnerId: string;
  readonly trainers: Trainers;
  readonly clock: Clock;
  readonly log: Log;
}

/** Hands jobs to the engine until the signal. Throws Usage, and what the server refuses for good. */
export async function startDispatcher(given: RunnerOptions, to: Wiring, signal: AbortSignal): Promise<void> {
  const { engine: options, graceMs } = given;
  const { queue, runnerId, trainers, clock, log } = to;
  const engine = await makeEngine(options, graceMs, process.env, clock);
  const offer: Offer = {
    ...localOffer(trainers, version),
    executor: options.executor,
    gpus: options.engineGpus,
    noScriptsBecause: '',
  };
  log.info('jobs go to an engine', { engine: engine.name, jobsAtOnce: options.jobsAtOnce });
  await runDispatcher(
    {
      engine,
      queue,
      held: heldAttempts(given.folder),
      patience: {
        ...usualPatience,
        longestLookMs: options.enginePollSeconds * 1000,
        pendingMs: options.pendingMinutes === 0 ? Infinity : options.pendingMinutes * 60_000,
        // The trainer gets its grace, then the attempt has a moment to say so.
        graceMs: graceMs + 10_000,
      },
      orderOf: (job) => formatOrder({ url: options.attemptUrl, runnerId, job, graceMs }),
      clock,
      log,
    },
    { offer, jobsAtOnce: options.jobsAtOnce },
    signal,
  );
}
