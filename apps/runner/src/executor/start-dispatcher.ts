import type { Clock, Log } from '@platform/kit';
import { endsOfLife } from '@platform/sandbox/environments';
import type { Queue } from '../cloud/queue.ts';
import { localCapabilities, type RunnerCapabilities } from '../local-capabilities.ts';
import type { RunnerOptions } from '../options.ts';
import type { Trainers } from '../trainer/command.ts';
import { version } from '../version.ts';
import { formatOrder } from './attempt-order.ts';
import { defaultTimeouts } from './dispatch-life.ts';
import { runDispatcher } from './dispatcher.ts';
import { heldAttempts } from './held-attempts.ts';
import { makeEngine } from './make-engine.ts';

export interface Wiring {
  readonly queue: Queue;
  readonly runnerId: string;
  readonly trainers: Trainers;
  /** Aborted: the dispatcher leases no more jobs and finishes the running ones. */
  readonly drain: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Submits jobs to the engine until the signal. Throws Usage, and errors that the server will not clear. */
export async function startDispatcher(given: RunnerOptions, to: Wiring, signal: AbortSignal): Promise<void> {
  const { engine: options, graceMs } = given;
  const { queue, runnerId, trainers, drain, clock, log } = to;
  const engine = await makeEngine(options, given, process.env, clock);
  log.info('jobs go to an engine', { engine: engine.name, jobs: options.engineJobs });
  await runDispatcher(
    {
      engine,
      queue,
      held: heldAttempts(given.folder),
      patience: {
        ...defaultTimeouts,
        maxPollMs: options.enginePollSeconds * 1000,
        pendingMs: options.pendingMinutes === 0 ? Infinity : options.pendingMinutes * 60_000,
        // The trainer gets its grace period; the attempt needs time to report its status after that.
        graceMs: graceMs + 10_000,
      },
      orderOf: (job) => formatOrder({ url: options.attemptUrl, runnerId, job, graceMs }),
      clock,
      log,
    },
    engineOffer(given, trainers),
    { stop: signal, drain, jobs: options.engineJobs },
  );
}

/** The capabilities of the nodes as the operator configures them: this host cannot probe the nodes. */
export function engineOffer({ engine, scripts }: RunnerOptions, trainers: Trainers): RunnerCapabilities {
  const offer: RunnerCapabilities = {
    ...localCapabilities(trainers, version),
    executor: engine.executor,
    gpus: engine.engineGpus,
  };
  if (!scripts.enabled || scripts.pythons.length === 0) {
    const noScriptsBecause = scripts.enabled
      ? `The runner does not know which Pythons the nodes of ${engine.executor} have: start it with --script-python py:3.11=/usr/bin/python3.`
      : 'Training scripts are switched off on this runner (--no-scripts).';
    return { ...offer, noScriptsBecause };
  }
  const containers = scripts.pythons.map(({ key = '', python }) => ({
    key,
    uri: `${engine.executor}:${python}`,
    framework: /^(tensorflow|tf)\b/.test(key) ? 'tensorflow' : /^(pytorch|torch)\b/.test(key) ? 'pytorch' : 'python',
    description: `${python} on the nodes of ${engine.executor}`,
    endOfLife: endsOfLife[/^py:(\d+\.\d+)$/.exec(key)?.[1] ?? ''],
  }));
  return { ...offer, kinds: [...offer.kinds, 'custom'], containers };
}
