import { type Cell, changedOr, type Clock } from '@platform/kit';
import type { LogPlace } from '../rpc/rules/page-tokens.ts';
import type { Database } from '../database/database.ts';
import { readLogs } from './store/job-reports.ts';
import { watchJobs } from './store/job-watch.ts';
import { findJob, type JobRow } from './store/jobs.ts';
import type { Notifications } from '../database/notifications.ts';

/** The job's state, then the lines after a position: a job that had ended by then gets no more lines. */
export type JobLogPage = { row: JobRow | undefined; lines: Awaited<ReturnType<typeof readLogs>> };

/**
 * Log lines of jobs, with waiting for new ones. A new line costs one read for all followers of a job at the same
 * position.
 */
export type FollowedLogs = {
  /**
   * Reads the lines after a position; without any, waits for lines or for the end of the job.
   *
   * @param settle - receives each page; returns undefined to keep waiting. May throw for callers without the right.
   */
  read<T>(request: LogsRequest, settle: (page: JobLogPage, isLast: boolean) => T | undefined): Promise<T | undefined>;
  /** Notifies followers that a runner has written lines. */
  written(jobId: string): void;
  close(): void;
};

type LogsRequest = { jobId: string; after: LogPlace; waitMs: number; signal: AbortSignal };

/** A job with followers. `turns` counts its changes. */
type FollowedJob = { turns: Cell<number>; readPage: SharedRead; followers: number; close(): void };
/** @param mayPause - whether the read may wait for the shortest interval between reads. */
type SharedRead = (after: LogPlace, mayPause: boolean) => Promise<JobLogPage>;

const pageLines = 500;
/** Shortest interval between reads of a job that writes constantly. */
const everyMs = 100;
/** Interval of reads without a notification, which can be lost while the database connection is re-established. */
const pollMs = 2_000;

/** Reads a job's lines, once per turn for all followers at the same position. */
function sharedRead({ db, clock }: { db: Database; clock: Clock }, jobId: string, turns: Cell<number>): SharedRead {
  /** Reads of the current turn, by position. */
  const reads = new Map<string, Promise<JobLogPage>>();
  const last = { turn: 0, readAt: Number.NEGATIVE_INFINITY };
  const readNow = async (after: LogPlace): Promise<JobLogPage> => {
    last.readAt = clock.now();
    const row = await findJob(db, jobId);
    return { row, lines: row ? await readLogs(db, row, after, pageLines) : [] };
  };
  return (after, mayPause) => {
    const turn = turns.get();
    if (last.turn !== turn) reads.clear();
    last.turn = turn;
    const position = `${after.attempt} ${after.sequence}`;
    const known = reads.get(position);
    if (known) return known;
    const pauseMs = mayPause ? last.readAt + everyMs - clock.now() : 0;
    const pause = pauseMs > 0 ? clock.sleep(pauseMs) : Promise.resolve();
    const page = pause.then(() => readNow(after));
    reads.set(position, page);
    // Reject the current waiters; later callers retry.
    page.catch(() => reads.delete(position));
    return page;
  };
}

/** Reads pages until `settle` returns a value, the time is over or the caller leaves. */
async function readUntilSettled<T>(
  { turns, readPage }: FollowedJob,
  clock: Clock,
  { after, waitMs, signal }: LogsRequest,
  settle: (page: JobLogPage, isLast: boolean) => T | undefined,
): Promise<T | undefined> {
  const end = clock.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    const turn = turns.get();
    const page = await readPage(after, !isFirst);
    const left = end - clock.now();
    const settled = settle(page, left <= 0 || signal.aborted);
    if (settled !== undefined || left <= 0 || signal.aborted) return settled;
    if (turns.get() !== turn) continue;
    await changedOr(turns, Math.min(left, pollMs), clock, signal);
    // No notification arrived in time: the first follower that times out makes all of them read.
    if (turns.get() === turn && !signal.aborted && end > clock.now()) turns.update((at) => at + 1);
  }
}

export function followedLogs(deps: { db: Database; notifications: Notifications; clock: Clock }): FollowedLogs {
  const watch = watchJobs(deps.notifications);
  const followed = new Map<string, FollowedJob>();
  const open = (jobId: string): FollowedJob => {
    const { turns, close } = watch.open({ jobId });
    return { turns, close, readPage: sharedRead(deps, jobId, turns), followers: 0 };
  };
  const follow = (jobId: string): FollowedJob => {
    const job = followed.get(jobId) ?? open(jobId);
    followed.set(jobId, job);
    job.followers++;
    return job;
  };
  const leave = (jobId: string, job: FollowedJob): void => {
    job.followers--;
    if (job.followers > 0) return;
    job.close();
    followed.delete(jobId);
  };

  return {
    close: watch.close,
    written(jobId) {
      followed.get(jobId)?.turns.update((turn) => turn + 1);
    },
    async read(request, settle) {
      const job = follow(request.jobId);
      try {
        return await readUntilSettled(job, deps.clock, request, settle);
      } finally {
        leave(request.jobId, job);
      }
    },
  };
}
