import { type Cell, changedOr, type Clock } from '@platform/kit';
import type { LogPlace } from '../rpc/rules/page-tokens.ts';
import type { Database } from '../database/database.ts';
import { readLogs } from './store/job-reports.ts';
import { watchJobs } from './store/job-watch.ts';
import { findJob, type JobRow } from './store/jobs.ts';
import type { Notifications } from '../database/notifications.ts';

/** The job as it was, and then the lines after a place: a job that had ended gets no more. */
export type Look = { row: JobRow | undefined; lines: Awaited<ReturnType<typeof readLogs>> };

/** Lines of jobs, also for those who wait for more. However many follow one job, a new line costs one look for all of them. */
export type FollowedLogs = {
  /**
   * The lines after a place; where there are none, waits for some or for the end of the job.
   *
   * @param settle - sees each look: undefined goes on waiting. May throw, for callers without the right.
   */
  read<T>(
    asked: { jobId: string; after: LogPlace; waitMs: number; signal: AbortSignal },
    settle: (look: Look, isLast: boolean) => T | undefined,
  ): Promise<T | undefined>;
  /** A runner has written lines. */
  written(jobId: string): void;
  close(): void;
};

type Followed = {
  turns: Cell<number>;
  /** Looks of the present turn, by place. */
  looks: Map<string, Promise<Look>>;
  turn: number;
  lastLook: number;
  followers: number;
  close(): void;
};

const pageLines = 500;
/** A job that writes all the time is looked at so often. */
const everyMs = 100;
/** What wakes may be missed while the connection to the database is made again. */
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
  /** One for all who stand at the same place. */
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
    // A failure is told to those who wait for it, and to nobody who comes later.
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
          // Nothing told of anything: the first one whose patience ends has everybody look.
          if (job.turns.get() === turn && !signal.aborted && end > clock.now()) job.turns.update((at) => at + 1);
        }
      } finally {
        leave(jobId, job);
      }
    },
  };
}
