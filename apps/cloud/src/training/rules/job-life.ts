import type { ErrorCode } from '@platform/contract/errors/errors';

/**
 * State machine of a training job. Times are ms since 1970. An attempt is one run on one runner. Every call of a runner
 * names its attempt; calls of an ended attempt are rejected.
 */
interface Attempt {
  /** Number of attempts so far, including this one; 0: never leased. */
  readonly attempt: number;
  /** Attempts that ended for reasons other than data or script. */
  readonly losses: number;
  /** The runner of the last attempt. */
  readonly runner: string | undefined;
}
interface Leased extends Attempt {
  readonly runner: string;
  readonly leaseUntil: number;
  /** The runner has reported this attempt, so it has received the job. */
  readonly reported: boolean;
}
export type Cause = 'script' | 'data' | 'infrastructure';
export interface Failure {
  readonly cause: Cause;
  /** Row of the error table, or the trainer's own code. */
  readonly code: string;
  readonly message: string;
}
export type Job =
  /** `notBefore`: end of the backoff after a loss; undefined: no backoff. */
  | (Attempt & { readonly at: 'pending'; readonly notBefore?: number | undefined })
  | (Leased & { readonly at: 'in_progress' })
  | (Leased & { readonly at: 'canceling' })
  | (Attempt & { readonly at: 'completed' })
  | (Attempt & { readonly at: 'failed'; readonly failure: Failure })
  | (Attempt & { readonly at: 'canceled' });

export type JobEvent =
  /**
   * A runner leases the job. `isQueued`: it submits the job to an engine such as Slurm, whose queue may delay it
   * further.
   */
  | { readonly is: 'leased'; readonly runner: string; readonly leaseUntil: number; readonly isQueued: boolean }
  /** The runner's heartbeat. */
  | { readonly is: 'reported'; readonly attempt: number; readonly runner: string; readonly leaseUntil: number }
  /** All files are stored. */
  | { readonly is: 'completed'; readonly attempt: number; readonly runner: string }
  | {
      readonly is: 'failed';
      readonly attempt: number;
      readonly runner: string;
      readonly failure: Failure;
      readonly now: number;
    }
  /** A user cancels the job. */
  | { readonly is: 'canceled' }
  /** The runner has stopped the process of this attempt, as requested. */
  | { readonly is: 'stopped'; readonly attempt: number; readonly runner: string }
  /** `leaseUntil` has passed. */
  | { readonly is: 'due'; readonly now: number }
  /** The runner still reports after the attempt has exceeded its time limit. */
  | { readonly is: 'overdue'; readonly ofAttempt: number; readonly message: string }
  /** The runner requests work and does not list this job as running. */
  | { readonly is: 'returned'; readonly runner: string };

/** `changed` false: the event is a repetition, and nothing needs to be written. */
export type Step =
  | { readonly ok: true; readonly job: Job; readonly changed: boolean }
  | { readonly ok: false; readonly code: ErrorCode };

/** The job fails after this many lost attempts. */
export const maxLosses = 3;

/** Backoff after the first and second loss that a runner reported: the cause may be temporary. */
export const pausesMs: readonly number[] = [5_000, 20_000];

export const submitted: Job = { at: 'pending', attempt: 0, losses: 0, runner: undefined };

export const isEnded = (job: Pick<Job, 'at'>): boolean =>
  job.at === 'completed' || job.at === 'failed' || job.at === 'canceled';

const to = (job: Job): Step => ({ ok: true, job, changed: true });
const same = (job: Job): Step => ({ ok: true, job, changed: false });
const refused = (code: ErrorCode): Step => ({ ok: false, code });
const attemptOf = ({ attempt, losses, runner }: Attempt): Attempt => ({ attempt, losses, runner });

/** The attempt was lost for infrastructure reasons: requeue the job, or fail it after `maxLosses` losses. */
function lost(job: Leased, reported?: { failure: Failure; now: number }): Step {
  const losses = job.losses + 1;
  if (losses < maxLosses) {
    const pauseMs = pausesMs[losses - 1];
    const notBefore = reported && pauseMs !== undefined ? { notBefore: reported.now + pauseMs } : {};
    return to({ ...attemptOf(job), at: 'pending', losses, ...notBefore });
  }
  const last: Failure = reported?.failure ?? {
    cause: 'infrastructure',
    code: 'LEASE_LOST',
    message: `The runner was lost ${losses} times; the last one was ${job.runner}.`,
  };
  return to({ ...attemptOf(job), at: 'failed', losses, failure: last });
}

/** Returns the state after `event`. Pure: the caller writes the result, or throws the code. */
export function step(job: Job, event: JobEvent): Step {
  switch (event.is) {
    case 'leased':
      if (job.at !== 'pending') return refused('LEASE_LOST');
      return to({
        at: 'in_progress',
        attempt: job.attempt + 1,
        losses: job.losses,
        runner: event.runner,
        leaseUntil: event.leaseUntil,
        reported: false,
      });
    case 'canceled':
      if (job.at === 'pending') return to({ ...attemptOf(job), at: 'canceled' });
      if (job.at === 'in_progress') return to({ ...job, at: 'canceling' });
      return job.at === 'canceling' ? same(job) : refused('JOB_FINISHED');
    case 'due':
      if (job.at !== 'in_progress' && job.at !== 'canceling') return same(job);
      if (event.now < job.leaseUntil) return same(job);
      return job.at === 'canceling' ? to({ ...attemptOf(job), at: 'canceled' }) : lost(job);
    case 'overdue':
      if ((job.at !== 'in_progress' && job.at !== 'canceling') || job.attempt !== event.ofAttempt) return same(job);
      if (job.at === 'canceling') return to({ ...attemptOf(job), at: 'canceled' });
      return to({
        ...attemptOf(job),
        at: 'failed',
        failure: { cause: 'script', code: 'TRAINING_TIMED_OUT', message: event.message },
      });
    case 'returned':
      if ((job.at !== 'in_progress' && job.at !== 'canceling') || job.runner !== event.runner) return same(job);
      if (job.at === 'canceling') return to({ ...attemptOf(job), at: 'canceled' });
      // The response with the lease was lost: lease the same attempt again.
      return job.reported ? lost(job) : same(job);
    default:
      return ofRunner(job, event);
  }
}

type RunnerEvent = Extract<JobEvent, { attempt: number }>;

function ofRunner(job: Job, event: RunnerEvent): Step {
  const isOwn = job.attempt === event.attempt && job.runner === event.runner;
  if (!isOwn) return refused('LEASE_LOST');
  switch (job.at) {
    case 'pending':
      // The runner repeats its report that it gave the attempt up.
      return event.is === 'failed' && event.failure.cause === 'infrastructure' ? same(job) : refused('LEASE_LOST');
    case 'completed':
      return event.is === 'completed' ? same(job) : refused('LEASE_LOST');
    case 'failed':
      return event.is === 'failed' ? same(job) : refused('LEASE_LOST');
    case 'canceled':
      return event.is === 'stopped' || event.is === 'failed' ? same(job) : refused('LEASE_LOST');
    case 'canceling':
      // A canceled job discards its result, however the attempt ended.
      return event.is === 'reported'
        ? to({ ...job, reported: true, leaseUntil: Math.max(job.leaseUntil, event.leaseUntil) })
        : to({ ...attemptOf(job), at: 'canceled' });
    case 'in_progress': {
      if (event.is === 'reported') {
        return to({ ...job, reported: true, leaseUntil: Math.max(job.leaseUntil, event.leaseUntil) });
      }
      if (event.is === 'completed') return to({ ...attemptOf(job), at: 'completed' });
      if (event.is === 'stopped') return lost(job);
      // An orderly shutdown of the runner is not a loss of the job.
      if (event.failure.code === 'RUNNER_STOPPED') return to({ ...attemptOf(job), at: 'pending' });
      // An operator of the cluster canceled the job, so do not restart it. A request that this server rejected as
      // invalid would fail again.
      const isFinal = event.failure.code === 'ENGINE_JOB_CANCELED' || event.failure.code === 'INVALID_ARGUMENT';
      if (event.failure.cause === 'infrastructure' && !isFinal) return lost(job, event);
      return to({ ...attemptOf(job), at: 'failed', failure: event.failure });
    }
  }
}
