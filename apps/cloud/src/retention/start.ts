import type { Clock, Log } from '@platform/kit';
import { attemptInputs } from '../blobs/attempt-inputs.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { removeOldExports } from '../data/store/sequence-exports.ts';
import type { Database } from '../database/database.ts';
import { sweepLogDays, trimMachines } from '../logs/log-sweeps.ts';
import { blobFolders, sweepBlobs, runSweeps, type Sweep } from './sweeps.ts';
import { conditionSweeps } from '../conditions/condition-sweeps.ts';
import { sweepSampleDays } from '../machines/sample-sweeps.ts';
import { retentionClock } from './retention-clock.ts';
import {
  partsWithRevisions,
  removeExpired,
  removeOldAttempts,
  removeOldAudit,
  removeOldBulkOperations,
  removeOldJobLogs,
  pruneFragmentRevisions,
  pruneRevisions,
} from './store/old-rows.ts';

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
    {
      name: 'days of samples',
      ...hourly,
      firstMs: 0,
      steps: (now) => sweepSampleDays(db, { now, wall: clock.wall(), keptDays: options.sampleDays }),
    },
    {
      name: 'log lines above the limit of a machine',
      ...hourly,
      everyMs: 10 * 60_000,
      steps: () => trimMachines(db, options.logMibPerMachine * 2 ** 20),
    },
    older('log lines of jobs', options.jobLogDays, (before) => removeOldJobLogs(db, before, rowsPerStep)),
    older('rows of ended attempts', options.attemptDays, (before) => removeOldAttempts(db, before, rowsPerStep)),
    older('audit rows', options.auditDays, (before) => removeOldAudit(db, before, rowsPerStep)),
    older('changes of many machines', options.auditDays, (before) => removeOldBulkOperations(db, before, rowsPerStep)),
    ...conditionSweeps(db, options.sampleDays).map(({ name, remove }) => ({
      name,
      ...hourly,
      steps: (now: number) => untilNone(() => remove(now)),
    })),
    older('exports of sequences', exportDays, (before) => removeOldExports(db, before, rowsPerStep)),
    older('expired sessions, links and runners', expiredDays, (before) => removeExpired(db, before, rowsPerStep)),
    ...revisionSweeps(db, options.configRevisions).map((sweep) => ({ ...sweep, ...hourly })),
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

const revisionSweeps = (db: RetentionDeps['db'], kept: number): Pick<Sweep, 'name' | 'steps'>[] => [
  {
    name: 'configuration revisions',
    async *steps() {
      for (const part of await partsWithRevisions(db, kept))
        yield* untilNone(() => pruneRevisions(db, part, kept, rowsPerStep));
    },
  },
  {
    name: 'revisions of fragments',
    steps: () => untilNone(() => pruneFragmentRevisions(db, kept, rowsPerStep)),
  },
];

async function* untilNone(remove: () => Promise<number>): AsyncGenerator<number> {
  for (;;) {
    const removed = await remove();
    if (removed === 0) return;
    yield removed;
  }
}
