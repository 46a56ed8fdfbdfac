import { type Cell, changedOr, type Clock } from '@platform/kit';
import type { LogPlace } from '../rpc/rules/page-tokens.ts';
import type { Database } from '../database/database.ts';
import { readLogs } from './store/job-reports.ts';
import { watchJobs } from './store/job-watch.ts';
import { findJob, type JobRow } from './store/jobs.ts';
import type { Notifications } from '../database/notifications.ts';

/** The job's state, then the lines after a position: a job that had ended by then gets no more lines. */
export type Look = { row: JobRow | undefined; lines: Awaited<ReturnType<typeof readLogs>> };

/**
 * Log lines of jobs, with waiting for new ones. A new line costs one look for all followers of a job at the same
 * position.
 */
export type FollowedLogs = {
  /**
   * Reads the lines after a position; without any, waits for lines or for the end of the job.
   *
   * @param settle - receives each look; returns undefined to keep waiting. May throw for callers without the right.
   */
  read<T>(
    asked: { jobId: string; after: LogPlace; waitMs: number; signal: AbortSignal },
    settle: (look: Look, isLast: boolean) => T | undefined,
  ): Promise<T | undefined>;
  /** Notifies followers that a runner has written lines. */
  written(jobId: string): void;
  close(): void;
};

type Followed = {
  turns: Cell<number>;
  /** Looks of the current turn, by position. */
  looks: Map<string, Promise<Look>>;
  turn: number;
  lastLook: number;
  followers: number;
  close(): void;
};

const pageLines = 500;
/** Shortest interval between looks at a job that writes constantly. */
const everyMs = 100;
/** Interval of looks without a notification, which can be lost while the database connection is re-established. */
const pollMs = 2_000;

export function followedLogs(of: { db: Database; notifications: Notifications; clock: Clock }): FollowedLogs {
  const { db, clock } = of;
  const watch = watchJobs(of.notifications);
  const followed = new Map<string, Followed>();
  const open = (jobId: string): Followed => {
    const known = followed.get(jobId) ?? {
      ...watch.open({ jobId }),
      looks: new Map<string, Promise<Look>>(),
      turn: 0,
      lastLook: Number.NEGATIVE_INFINITY,
      followers: 0,
    };
    followed.set(jobId, known);
    known.followers++;
    return known;
  };
  const leave = (jobId: string, job: Followed): void => {
    job.followers--;
    if (job.followers > 0) return;
    job.close();
    followed.delete(jobId);
  };
  const lookNow = async (job: Followed, jobId: string, after: LogPlace): Promise<Look> => {
    job.lastLook = clock.now();
    const row = await findJob(db, jobId);
    return { row, lines: row ? await readLogs(db, row, after, pageLines) : [] };
  };
  /** Shares one look among all followers at the same position. */
  const shared = (job: Followed, jobId: string, after: LogPlace, mayPause: boolean): Promise<Look> => {
    const turn = job.turns.get();
    if (job.turn !== turn) job.looks.clear();
    job.turn = turn;
    const place = `${after.attempt} ${after.sequence}`;
    const pauseMs = mayPause ? job.lastLook + everyMs - clock.now() : 0;
    const known = job.looks.get(place);
    if (known) return known;
    const pause = pauseMs > 0 ? clock.sleep(pauseMs) : Promise.resolve();
    const look = pause.then(() => lookNow(job, jobId, after));
    job.looks.set(place, look);
    // Reject the current waiters; later callers retry.
    look.catch(() => job.looks.delete(place));
    return look;
  };

  return {
    close: watch.close,
    written(jobId) {
      followed.get(jobId)?.turns.update((turn) => turn + 1);
    },
    async read({ jobId, after, waitMs, signal }, settle) {
      const end = clock.now() + waitMs;
      const job = open(jobId);
      try {
        for (let isFirst = true; ; isFirst = false) {
          const turn = job.turns.get();
          const look = await shared(job, jobId, after, !isFirst);
          const left = end - clock.now();
          const settled = settle(look, left <= 0 || signal.aborted);
          if (settled !== undefined || left <= 0 || signal.aborted) return settled;
          if (job.turns.get() !== turn) continue;
          await changedOr(job.turns, Math.min(left, pollMs), clock, signal);
          // No notification arrived in time: the first follower that times out makes all of them look.
          if (job.turns.get() === turn && !signal.aborted && end > clock.now()) job.turns.update((at) => at + 1);
        }
      } finally {
        leave(jobId, job);
      }
    },
  };
}
