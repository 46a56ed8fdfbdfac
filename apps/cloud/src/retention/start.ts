import type { Clock, Log } from '@platform/kit';
import { attemptInputs } from '../blobs/attempt-inputs.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { separateCaptureTags } from '../data/store/capture-tags.ts';
import { removeOldExports } from '../data/store/sequence-exports.ts';
import type { Database } from '../database/database.ts';
import { moveLines, sweepLogDays, trimMachines } from '../logs/log-sweeps.ts';
import { blobFolders, sweepBlobs } from './blob-sweep.ts';
import { removeOldSamples } from '../machines/store/samples.ts';
import { retentionClock } from './retention-clock.ts';
import {
  partsWithRevisions,
  removeExpired,
  removeOldAttempts,
  removeOldAudit,
  removeOldJobLogs,
  pruneRevisions,
} from './store/old-rows.ts';
import { runSweeps, type Sweep } from './sweeps.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Delay after the start, when other work is more urgent. */
const firstMs = 5 * 60_000;
/** Rows per statement. */
const rowsPerStep = 1_000;
/** Retention of expired sessions, sign-in links and runners, for investigations. */
const expiredDays = 30;
/** Retention of sequence exports with their files. */
const exportDays = 1;

/** Retention periods and limits. */
export type RetentionOptions = Readonly<
  Record<
    | 'logDays'
    | 'logMibPerMachine'
    | 'sampleDays'
    | 'jobLogDays'
    | 'attemptDays'
    | 'auditDays'
    | 'configRevisions'
    | 'unnamedFileHours',
    number
  >
>;

export type RetentionDeps = { db: Database; blobs: BlobStore; clock: Clock; log: Log };

/** Deletes old data in the background according to the options. Ends with `signal`. */
export async function startRetention(
  deps: RetentionDeps,
  options: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  await runSweeps({ sweeps: sweepsOf(deps, options), time: retentionClock(deps), clock, log }, signal);
}

/** All sweeps of the server. */
export function sweepsOf({ db, blobs, clock }: RetentionDeps, options: RetentionOptions): Sweep[] {
  const inputs = attemptInputs(blobs);
  const hourly = { everyMs: hourMs, firstMs };
  const older = (name: string, days: number, remove: (before: number) => Promise<number>): Sweep => ({
    name,
    ...hourly,
    steps: (now) => untilNone(() => remove(now - days * dayMs)),
  });
  return [
    {
      name: 'days of log lines',
      ...hourly,
      firstMs: 0,
      steps: (now) => sweepLogDays(db, { now, wall: clock.wall(), keptDays: options.logDays }),
    },
    { name: 'log lines moved to their days', ...hourly, firstMs: 0, steps: () => moveLines(db, clock.wall()) },
    {
      name: 'capture tags separated from labels',
      ...hourly,
      firstMs: 0,
      steps: () => untilNone(() => separateCaptureTags(db, rowsPerStep)),
    },
    {
      name: 'log lines above the limit of a machine',
      ...hourly,
      everyMs: 10 * 60_000,
      steps: () => trimMachines(db, options.logMibPerMachine * 2 ** 20),
    },
    older('samples of machines', options.sampleDays, (before) => removeOldSamples(db, before, rowsPerStep)),
    older('log lines of jobs', options.jobLogDays, (before) => removeOldJobLogs(db, before, rowsPerStep)),
    older('rows of ended attempts', options.attemptDays, (before) => removeOldAttempts(db, before, rowsPerStep)),
    older('audit rows', options.auditDays, (before) => removeOldAudit(db, before, rowsPerStep)),
    older('exports of sequences', exportDays, (before) => removeOldExports(db, before, rowsPerStep)),
    older('expired sessions, links and runners', expiredDays, (before) => removeExpired(db, before, rowsPerStep)),
    {
      name: 'configuration revisions',
      ...hourly,
      async *steps() {
        const kept = options.configRevisions;
        for (const part of await partsWithRevisions(db, kept))
          yield* untilNone(() => pruneRevisions(db, part, kept, rowsPerStep));
      },
    },
    {
      name: 'files that nothing names',
      ...hourly,
      async *steps(now) {
        const graceMs = options.unnamedFileHours * hourMs;
        for (const folder of blobFolders) yield await sweepBlobs({ db, blobs, inputs }, { folder, now, graceMs });
      },
    },
  ];
}

async function* untilNone(remove: () => Promise<number>): AsyncGenerator<number> {
  for (;;) {
    const removed = await remove();
    if (removed === 0) return;
    yield removed;
  }
}
