import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import { connectBlobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { Session } from './cloud/session.ts';
import { pictureCache } from './job/cache.ts';
import { localOffer } from './offer.ts';
import type { WorkOptions } from './options.ts';
import { withScripts, type Opened } from './script/open-scripts.ts';
import type { Trainers } from './trainer/command.ts';
import { trainerEnv } from './trainer/environment.ts';
import { version } from './version.ts';
import type { Workshop } from './workshop.ts';

export interface Place {
  /** Folder for jobs. */
  readonly root: string;
  readonly cacheFolder: string;
  /** Of the management server. */
  readonly url: string;
  readonly queue: Queue;
  readonly session: Session;
  readonly trainers: Trainers;
  readonly scripts: Opened;
  readonly clock: Clock;
  readonly log: Log;
}

/** The same for a runner that runs jobs itself and for one attempt on a cluster. */
export function makeWorkshop(
  given: WorkOptions,
  { root, url, queue, session, trainers, scripts, clock, log, ...at }: Place,
): Workshop {
  return {
    root,
    queue,
    blobs: connectBlobs(url, session),
    cache: pictureCache(path.resolve(at.cacheFolder), given.cacheBytes, () => clock.wall()),
    trainers,
    offer: withScripts(localOffer(trainers, version), scripts),
    scripts: 'scripts' in scripts ? scripts.scripts : undefined,
    graceMs: given.graceMs,
    keepJobs: given.keepJobs,
    env: trainerEnv(process.env),
    clock,
    log,
  };
}
