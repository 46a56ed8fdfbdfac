import type { Clock, Log } from '@platform/kit';
import type { Blobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { ImageCache } from './job/cache.ts';
import type { CheckpointStore } from './job/checkpoints.ts';
import type { CapabilitySource } from './capabilities.ts';
import type { RunnerCapabilities } from './local-capabilities.ts';
import type { Scripts } from './script/open-scripts.ts';
import type { Trainers } from './trainer/command.ts';
import type { Isolation } from './trainer/trainer-sandbox.ts';

/** The dependencies that all attempts share. */
export interface Workspace {
  /** Folder of the runner. */
  root: string;
  queue: Queue;
  blobs: Blobs;
  cache: ImageCache;
  /** What training scripts keep between the attempts of a job. */
  checkpoints: CheckpointStore;
  trainers: Trainers;
  offer: RunnerCapabilities;
  /** Undefined if training scripts cannot run here. */
  scripts: Scripts | undefined;
  /** Isolation of built-in trainers. */
  isolation: Isolation;
  /** Probes again what this host can run; undefined: the first result stays valid. */
  capabilities?: CapabilitySource;
  /** Nice value of built-in trainers, added to the runner's own. */
  trainerNice: number;
  /** Grace period of a trainer after TERM. */
  graceMs: number;
  keepJobs: boolean;
  /** Environment of the trainers. */
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Log;
}
