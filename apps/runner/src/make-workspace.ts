import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import type { CapabilitySource } from './capabilities.ts';
import { connectBlobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { Session } from './cloud/session.ts';
import { imageCache } from './job/cache.ts';
import { checkpointStore } from './job/checkpoints.ts';
import { cacheIn, checkpointsIn } from './job/folder.ts';
import type { WorkOptions } from './options.ts';
import type { Trainers } from './trainer/command.ts';
import { trainerEnv } from './trainer/environment.ts';
import type { Workspace } from './workspace.ts';

export interface Place {
  /** Folder for jobs. */
  readonly root: string;
  /** Folder for what jobs share: images, and checkpoints of their attempts. */
  readonly sharedFolder: string;
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
    cache: imageCache(cacheIn(path.resolve(at.sharedFolder)), given.cacheBytes, () => clock.wall()),
    checkpoints: checkpointStore(checkpointsIn(path.resolve(at.sharedFolder)), () => clock.wall()),
    trainers,
    trainerNice: given.trainerNice,
    graceMs: given.graceMs,
    keepJobs: given.keepJobs,
    env: trainerEnv(process.env),
    clock,
    log,
  };
}
