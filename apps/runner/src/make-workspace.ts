import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import type { CapabilitySource } from './capabilities.ts';
import { connectBlobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { Session } from './cloud/session.ts';
import { pictureCache } from './job/cache.ts';
import type { WorkOptions } from './options.ts';
import type { Trainers } from './trainer/command.ts';
import { trainerEnv } from './trainer/environment.ts';
import type { Workshop } from './workspace.ts';

export interface Place {
  /** Folder for jobs. */
  readonly root: string;
  readonly cacheFolder: string;
  /** URL of the management server. */
  readonly url: string;
  readonly queue: Queue;
  readonly session: Session;
  readonly trainers: Trainers;
  readonly capabilities: CapabilitySource;
  readonly clock: Clock;
  readonly log: Log;
}

/** The same for a runner that runs jobs itself and for one attempt on a cluster. */
export async function makeWorkshop(
  given: WorkOptions,
  { root, url, queue, session, trainers, capabilities, clock, log, ...at }: Place,
  signal: AbortSignal,
): Promise<Workshop> {
  return {
    ...(await capabilities(signal)),
    capabilities,
    root,
    queue,
    blobs: connectBlobs(url, session),
    cache: pictureCache(path.resolve(at.cacheFolder), given.cacheBytes, () => clock.wall()),
    trainers,
    graceMs: given.graceMs,
    keepJobs: given.keepJobs,
    env: trainerEnv(process.env),
    clock,
    log,
  };
}
