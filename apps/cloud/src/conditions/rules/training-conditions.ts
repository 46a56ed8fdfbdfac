import { type FoundCondition, ownCondition } from './condition.ts';

/** All times in ms since 1970. */
export interface FailedJob {
  readonly orgId: string;
  readonly id: string;
  readonly model: string;
  readonly code: string;
  readonly problem: string;
  readonly endedOn: number;
}

/** Jobs of an organization that wait although no runner there could take one of them. */
export interface StuckJobs {
  readonly orgId: string;
  /** ID and model of the oldest. */
  readonly id: string;
  readonly model: string;
  readonly count: number;
  readonly oldest: number;
  readonly reason: string;
}

export interface MeasuredRunner {
  readonly orgId: string;
  readonly id: string;
  readonly host: string;
  readonly lastSeen: number;
}

/** Runners restart for updates. */
const runnerAwayMs = 15 * 60_000;
/** One that is gone for longer is not expected back. */
export const runnerMissedDays = 7;
/** A job waits for its turn, and for a runner that starts. */
export const stuckAfterMs = 5 * 60_000;
/** How long a failed job is listed, unless its model is trained again. */
export const failedDays = 7;

const dayMs = 24 * 3_600_000;
/** In whole characters. */
const cut = (text: string): string => text.slice(0, 300).toWellFormed();

/** @param jobs - of each model the newest job, if it failed. */
export const jobConditions = (jobs: readonly FailedJob[], now: number): FoundCondition[] =>
  jobs
    .filter(({ endedOn }) => now - endedOn < failedDays * dayMs)
    .map(({ orgId, id, model, code, problem, endedOn }) =>
      ownCondition(
        {
          orgId,
          subject: 'job',
          subjectId: id,
          subjectName: model,
          machineId: null,
          since: endedOn,
        },
        'JOB_FAILED',
        { job: model, problem: cut(problem || 'No reason was reported.'), ...(code !== '' && { code }) },
      ),
    );

export const queueConditions = (stuck: readonly StuckJobs[], now: number): FoundCondition[] =>
  stuck
    .filter(({ oldest }) => now - oldest > stuckAfterMs)
    .map(({ orgId, id, model, count, oldest, reason }) =>
      ownCondition(
        {
          orgId,
          subject: 'job',
          subjectId: id,
          subjectName: model,
          machineId: null,
          since: oldest,
        },
        'JOB_WAITS',
        { count, reason: cut(reason) },
      ),
    );

export const runnerConditions = (
  runners: readonly MeasuredRunner[],
  { now, watchedSince, away }: { now: number; watchedSince: number; away: ReadonlySet<string> },
): FoundCondition[] =>
  runners
    .filter(({ lastSeen }) => now - lastSeen < runnerMissedDays * dayMs)
    .filter(({ id, lastSeen }) => now - (away.has(id) ? lastSeen : Math.max(lastSeen, watchedSince)) > runnerAwayMs)
    .map(({ orgId, id, host, lastSeen }) =>
      ownCondition(
        {
          orgId,
          subject: 'runner',
          subjectId: id,
          subjectName: host,
          machineId: null,
          since: lastSeen,
        },
        'RUNNER_AWAY',
        { host },
      ),
    );
