/**
 * Entry point of a trainer: node main.ts --dataset_file=… --model_output_directory=… --job_file=job.json
 * --events_file=events.ndjson
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PlatformError } from '@platform/contract/errors/errors';
import { JobFormatError, parseJobSpec, trainerExit } from '@platform/contract/job/job';
import { systemClock } from './clock.ts';
import { localDevices } from './device.ts';
import { eventFile } from './events.ts';
import type { Events } from './events.ts';
import { flagsOf } from './flags.ts';
import { blockOtherLoaders } from './image-loaders.ts';
import type { Training } from './training.ts';

/** More threads do not make steps of eight small images faster. */
const maxThreads = 8;

/**
 * Runs `train` on the job folder in the flags, with an empty temporary folder, and sets the exit code. `train` returns
 * one sentence for users about the model's quality.
 */
export async function runTrainer(train: (training: Training, tmp: string) => Promise<string>): Promise<void> {
  // Image and network buffers are outside V8's heap; small objects in its young generation own them. The larger that
  // generation grows, the later they are freed. Keeping it at its initial size saves about 80 MiB at no cost in time.
  setFlagsFromString('--semi-space-growth-factor=1');
  blockOtherLoaders();
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  let events: Events | undefined;
  try {
    const flags = flagsOf(process.argv.slice(2));
    events = eventFile(flags.eventsFile, systemClock);
    const job = parseJobSpec(JSON.parse(await readFile(flags.jobFile, 'utf8')));
    const threads = Math.min(maxThreads, availableParallelism());
    const { datasetFile, outFolder } = flags;
    const { signal } = stop;
    const devices = localDevices(threads);
    const training = { job, datasetFile, outFolder, events, clock: systemClock, threads, signal, devices };
    const tmp = path.join(outFolder, 'tmp');
    await mkdir(tmp, { recursive: true });
    try {
      events.emit({ is: 'log', level: 'info', message: await train(training, tmp) });
    } finally {
      await rm(tmp, { recursive: true, force: true });
    }
  } catch (e) {
    process.exitCode = reportFailure(e, events, stop.signal.aborted);
  } finally {
    events?.close();
  }
}

/** @returns the exit code. */
function reportFailure(e: unknown, events: Events | undefined, wasStopped: boolean): number {
  if (wasStopped) {
    events?.emit({ is: 'log', level: 'info', message: 'Stopped by order.' });
    return trainerExit.terminated;
  }
  const known = e instanceof PlatformError || e instanceof JobFormatError;
  const code = e instanceof PlatformError ? e.code : known ? 'INVALID_ARGUMENT' : 'INTERNAL';
  const message = e instanceof PlatformError ? `${e.what} ${e.remedy}` : e instanceof Error ? e.message : String(e);
  events?.emit({ is: 'error', code, message });
  console.error(known ? `${code}: ${message}` : e);
  return known ? trainerExit.badData : trainerExit.failed;
}
