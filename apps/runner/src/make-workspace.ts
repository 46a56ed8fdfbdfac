import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import type { CapabilitySource } from './capabilities.ts';
import { connectBlobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { Session } from './cloud/session.ts';
import { imageCache } from './job/cache.ts';
import type { WorkOptions } from './options.ts';
import type { Trainers } from './trainer/command.ts';
import { trainerEnv } from './trainer/environment.ts';
import type { Workspace } from './workspace.ts';

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

/** Shared by a runner that runs jobs itself and by one attempt on a cluster. */
export async function makeWorkspace(
  given: WorkOptions,
  { root, url, queue, session, trainers, capabilities, clock, log, ...at }: Place,
  signal: AbortSignal,
): Promise<Workspace> {
  return {
    ...(await capabilities(signal)),
    capabilities,
    root,
    queue,
    blobs: connectBlobs(url, session),
    cache: imageCache(path.resolve(at.cacheFolder), given.cacheBytes, () => clock.wall()),
    trainers,
    graceMs: given.graceMs,
    keepJobs: given.keepJobs,
    env: trainerEnv(process.env),
    clock,
    log,
  };
}
