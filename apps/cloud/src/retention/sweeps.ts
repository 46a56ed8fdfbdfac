import { type Clock, errorText, type Log } from '@platform/kit';
import type { RetentionClock } from './retention-clock.ts';
import type { AttemptInputs } from '../blobs/attempt-inputs.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { deleteAbsentMarks, manifestsInUse, markUnnamed, namedBlobs, releaseBlob } from '../blobs/store/owned-blobs.ts';

/** Deletes old data in short steps. */
export type Sweep = {
  /** Name of the deleted data in the log. */
  name: string;
  everyMs: number;
  /** Delay of the first sweep after the start of the server. */
  firstMs: number;
  /**
   * Each step deletes a bounded number of rows or files. @param now - retention time, ms since 1970. @returns the
   * number deleted.
   */
  steps(now: number): AsyncIterable<number>;
};

const tickMs = 60_000;
/** Pause between two steps, which leaves the database to other work. */
const pauseMs = { idle: 5, removed: 50 };

/** Runs all sweeps, one step after the other, until `signal`. A failed sweep is retried when it is next due. */
export async function runSweeps(
  { sweeps, time, clock, log }: { sweeps: readonly Sweep[]; time: RetentionClock; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const startedAt = clock.now();
  const due = new Map(sweeps.map((sweep) => [sweep, startedAt + sweep.firstMs]));
  while (!signal.aborted) {
    try {
      const now = await time.tick();
      for (const [sweep, dueAt] of due) {
        if (signal.aborted || clock.now() < dueAt) continue;
        due.set(sweep, clock.now() + sweep.everyMs);
        await runSweep({ sweep, now, clock, log }, signal);
      }
    } catch (error) {
      log.warn('retention waits for the database', { error: errorText(error) });
    }
    await clock.sleep(tickMs, signal);
  }
}

async function runSweep(
  { sweep, now, clock, log }: { sweep: Sweep; now: number; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const began = clock.now();
  let removed = 0;
  try {
    for await (const count of sweep.steps(now)) {
      removed += count;
      if (signal.aborted) break;
      await clock.sleep(count > 0 ? pauseMs.removed : pauseMs.idle, signal);
    }
  } catch (error) {
    log.warn('a retention sweep failed', { sweep: sweep.name, removed, error: errorText(error) });
    return;
  }
  if (removed > 0) log.info('retention', { removed: sweep.name, count: removed, ms: Math.round(clock.now() - began) });
}

/** Files per statement. */
const mostAtOnce = 500;
/** Two hex digits: the folders of the store. */
export const blobFolders: readonly string[] = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'));

type SweepDeps = { db: Database; blobs: BlobStore; inputs: AttemptInputs };

/**
 * Sweeps one folder of the store: marks files without a reference, and deletes those that were marked `graceMs` ago.
 * Uploads need no lock: putting or touching a file makes it young, and sweeps never delete a young file.
 *
 * @param now - retention time, ms since 1970.
 * @returns the number of deleted files.
 */
export async function sweepBlobs(
  { db, blobs, inputs }: SweepDeps,
  { folder, now, graceMs }: { folder: string; now: number; graceMs: number },
): Promise<number> {
  const stored = await blobs.list(folder);
  const removed = new Set<string>();
  for (let from = 0; from < stored.length; from += mostAtOnce) {
    const some = stored.slice(from, from + mostAtOnce);
    const named = await namedBlobs(db, some);
    for (const sha256 of await neededByJobs(
      { db, inputs },
      some.filter((one) => !named.has(one)),
    ))
      named.add(sha256);
    const due = await markUnnamed(db, {
      named: [...named],
      unnamed: some.filter((one) => !named.has(one)),
      now,
      unnamedBefore: now - graceMs,
    });
    for (const sha256 of due) {
      // Rows first: a file without a row is harmless, and the next sweep deletes it.
      if ((await releaseBlob(db, sha256)) && (await blobs.deleteStoredBefore(sha256, now - graceMs)))
        removed.add(sha256);
    }
  }
  await deleteAbsentMarks(
    db,
    folder,
    stored.filter((sha256) => !removed.has(sha256)),
  );
  return removed.size;
}

/** The files that are images of datasets of pending or running jobs. */
async function neededByJobs(
  { db, inputs }: Pick<SweepDeps, 'db' | 'inputs'>,
  sha256s: readonly string[],
): Promise<string[]> {
  if (sha256s.length === 0) return [];
  const needed: string[] = [];
  for (const manifestSha256 of await manifestsInUse(db)) {
    for (const sha256 of sha256s) {
      if (await inputs.has({ manifestSha256, scriptSha256: undefined }, sha256)) needed.push(sha256);
    }
  }
  return needed;
}
