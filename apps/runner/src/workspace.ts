import type { Clock, Log } from '@platform/kit';
import type { Blobs } from './cloud/blobs.ts';
import type { Queue } from './cloud/queue.ts';
import type { ImageCache } from './job/cache.ts';
import type { CapabilitySource } from './capabilities.ts';
import type { RunnerCapabilities } from './local-capabilities.ts';
import type { Scripts } from './script/open-scripts.ts';
import type { Trainers } from './trainer/command.ts';
import type { Isolation } from './trainer/trainer-sandbox.ts';

/** What every attempt needs. */
export interface Workspace {
  /** Folder of the runner. */
  root: string;
  queue: Queue;
  blobs: Blobs;
  cache: ImageCache;
  trainers: Trainers;
  offer: RunnerCapabilities;
  /** Undefined: training scripts do not run here. */
  scripts: Scripts | undefined;
  /** Isolation of built-in trainers. */
  isolation: Isolation;
  /** Looks again what this host can run; undefined: what was found once holds. */
  capabilities?: CapabilitySource;
  /** Time that a trainer gets to end. */
  graceMs: number;
  keepJobs: boolean;
  /** Of trainers. */
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Log;
}
