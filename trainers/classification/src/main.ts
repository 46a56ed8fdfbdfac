/** node main.ts --dataset_file=… --model_output_directory=… --job_file=job.json --events_file=events.ndjson */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { PlatformError } from '@platform/contract/errors';
import { JobFormatError, parseJobSpec, trainerExit } from '@platform/contract/job';
import { systemClock } from '@platform/trainer-engine/clock';
import { thisComputer } from '@platform/trainer-engine/device';
import { eventFile } from '@platform/trainer-engine/events';
import type { Events } from '@platform/trainer-engine/events';
import { flagsOf } from '@platform/trainer-engine/flags';
import { verdict } from './model-card.ts';
import { train } from './train.ts';

/** More threads than this do not make steps of eight small pictures faster. */
const mostThreads = 8;

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());

/** @returns the exit code. */
function tellFailure(e: unknown, events: Events | undefined): number {
  if (stop.signal.aborted) {
    events?.tell({ is: 'log', level: 'info', message: 'Stopped by order.' });
    return trainerExit.terminated;
  }
  const known = e instanceof PlatformError || e instanceof JobFormatError;
  const code = e instanceof PlatformError ? e.code : known ? 'INVALID_ARGUMENT' : 'INTERNAL';
  const message = e instanceof PlatformError ? `${e.what} ${e.remedy}` : e instanceof Error ? e.message : String(e);
  events?.tell({ is: 'error', code, message });
  console.error(known ? `${code}: ${message}` : e);
  return known ? trainerExit.badData : trainerExit.failed;
}

async function run(open: (events: Events) => void): Promise<void> {
  const flags = flagsOf(process.argv.slice(2));
  const events = eventFile(flags.eventsFile, systemClock);
  open(events);
  const job = parseJobSpec(JSON.parse(await readFile(flags.jobFile, 'utf8')));
  const threads = Math.min(mostThreads, availableParallelism());
  const { datasetFile, outFolder } = flags;
  const { signal } = stop;
  const devices = thisComputer(threads);
  const training = { job, datasetFile, outFolder, events, clock: systemClock, threads, signal, devices };
  const message = verdict(await train(training));
  events.tell({ is: 'log', level: 'info', message });
}

const opened: Events[] = [];
try {
  await run((events) => opened.push(events));
} catch (e) {
  process.exitCode = tellFailure(e, opened[0]);
} finally {
  opened[0]?.close();
}
