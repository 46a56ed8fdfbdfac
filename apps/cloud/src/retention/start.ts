import type { Clock, Log } from '@platform/kit';
import { attemptInputs } from '../blobs/attempt-inputs.ts';
import type { BlobStore } from '../blobs/store.ts';
import type { CloudOptions } from '../options.ts';
import type { Database } from '../store/database.ts';
import { blobFolders, sweepBlobs } from './blob-sweep.ts';
import { retentionClock } from './retention-clock.ts';
import { runSweeps, type Sweep } from './sweeps.ts';

const hourMs = 3_600_000;
/** A server that just started has more urgent things to do. */
const firstMs = 5 * 60_000;

/** How long things are kept. */
export type RetentionOptions = Pick<CloudOptions, 'unnamedFileHours'>;

type RetentionDeps = { db: Database; blobs: BlobStore; clock: Clock; log: Log };

/** Removes what is older than the options say, in the background. Ends with `signal`. */
export async function startRetention(
  deps: RetentionDeps,
  options: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  await runSweeps({ sweeps: sweepsOf(deps, options), time: retentionClock(deps), clock, log }, signal);
}

function sweepsOf({ db, blobs }: RetentionDeps, options: RetentionOptions): Sweep[] {
  const inputs = attemptInputs(blobs);
  return [
    {
      name: 'files that nothing names',
      everyMs: hourMs,
      firstMs,
      async *steps(now) {
        const graceMs = options.unnamedFileHours * hourMs;
        for (const folder of blobFolders) yield await sweepBlobs({ db, blobs, inputs }, { folder, now, graceMs });
      },
    },
  ];
}
