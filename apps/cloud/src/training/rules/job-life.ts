import type { ErrorCode } from '@platform/contract/errors';

/**
 * The life of a training job as data: what it is, what happens to it, what it is then. Instants are ms since 1970.
 * An attempt is one run on one runner; every call of a runner names its attempt, and an attempt that is over is refused.
 */
interface Attempt {
  /** Runs so far, this one included; 0: never leased. */
  readonly attempt: number;
  /** Attempts that ended without the fault of data or script. */
  readonly losses: number;
  /** Who ran the last attempt. */
  readonly runner: string | undefined;
}
interface Leased extends Attempt {
  readonly runner: string;
  readonly leaseUntil: number;
  /** The runner has spoken about this attempt: it did receive the job. */
  readonly reported: boolean;
}
export type Cause = 'script' | 'data' | 'infrastructure';
export interface Failure {
  readonly cause: Cause;
  /** Row of the error table, or what the trainer calls it. */
  readonly code: string;
  readonly message: string;
}
export type Job =
  /** `notBefore`: a pause after trouble; undefined: at once. */
  | (Attempt & { readonly at: 'pending'; readonly notBefore?: number | undefined })
  | (Leased & { readonly at: 'in_progress' })
  | (Leased & { readonly at: 'canceling' })
  | (Attempt & { readonly at: 'completed' })
  | (Attempt & { readonly at: 'failed'; readonly failure: Failure })
  | (Attempt & { readonly at: 'canceled' });

export type JobEvent =
  /** A runner takes the job. `isQueued`: into the queue of an engine such as Slurm, where it may wait further. */
  | { readonly is: 'leased'; readonly runner: string; readonly leaseUntil: number; readonly isQueued: boolean }
  /** The runner lives and says so. */
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
  /** A person wants it to end. */
  | { readonly is: 'canceled' }
  /** The runner's process of this attempt is gone because it was told so. */
  | { readonly is: 'stopped'; readonly attempt: number; readonly runner: string }
  /** `leaseUntil` has passed. */
  | { readonly is: 'due'; readonly now: number }
  /** The runner goes on reporting, though the attempt had all the time it may have and more. */
  | { readonly is: 'overdue'; readonly ofAttempt: number; readonly message: string }
  /** The runner asks for work and does not name this job among those it runs. */
  | { readonly is: 'returned'; readonly runner: string };

/** `changed` false: the same event came before, nothing is to be written. */
export type Step =
  | { readonly ok: true; readonly job: Job; readonly changed: boolean }
  | { readonly ok: false; readonly code: ErrorCode };

/** So many attempts may be lost before the job fails. */
export const maxLosses = 3;

/** How long a job rests after its first and second loss that a runner reported: what ails it may pass. */
export const pausesMs: readonly number[] = [5_000, 20_000];

export const submitted: Job = { at: 'pending', attempt: 0, losses: 0, runner: undefined };

export const isEnded = (job: Pick<Job, 'at'>): boolean =>
  job.at === 'completed' || job.at === 'failed' || job.at === 'canceled';

const to = (job: Job): Step => ({ ok: true, job, changed: true });
const same = (job: Job): Step => ({ ok: true, job, changed: false });
const refused = (code: ErrorCode): Step => ({ ok: false, code });
const attemptOf = ({ attempt, losses, runner }: Attempt): Attempt => ({ attempt, losses, runner });

/** The attempt ended by nobody's fault: again from the queue, or the end of patience. */
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

/** The state after `event`. Pure: the caller writes what comes out, or throws the code. */
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
      // The answer with the lease never arrived: the same attempt is handed out again.
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
      // The runner gave the attempt up and repeats it.
      return event.is === 'failed' && event.failure.cause === 'infrastructure' ? same(job) : refused('LEASE_LOST');
    case 'completed':
      return event.is === 'completed' ? same(job) : refused('LEASE_LOST');
    case 'failed':
      return event.is === 'failed' ? same(job) : refused('LEASE_LOST');
    case 'canceled':
      return event.is === 'stopped' || event.is === 'failed' ? same(job) : refused('LEASE_LOST');
    case 'canceling':
      // However the attempt ended, its result is not wanted.
      return event.is === 'reported'
        ? to({ ...job, reported: true, leaseUntil: Math.max(job.leaseUntil, event.leaseUntil) })
        : to({ ...attemptOf(job), at: 'canceled' });
    case 'in_progress': {
      if (event.is === 'reported') {
        return to({ ...job, reported: true, leaseUntil: Math.max(job.leaseUntil, event.leaseUntil) });
      }
      if (event.is === 'completed') return to({ ...attemptOf(job), at: 'completed' });
      if (event.is === 'stopped') return lost(job);
      // A runner that is shut down in order says nothing against the job.
      if (event.failure.code === 'RUNNER_STOPPED') return to({ ...attemptOf(job), at: 'pending' });
      // Who runs the cluster ended it: starting it again would be against their will. What this server refused as wrong it
      // would refuse again; older runners report that as trouble of their own.
      const isFinal = event.failure.code === 'ENGINE_JOB_CANCELED' || event.failure.code === 'INVALID_ARGUMENT';
      if (event.failure.cause === 'infrastructure' && !isFinal) return lost(job, event);
      return to({ ...attemptOf(job), at: 'failed', failure: event.failure });
    }
  }
}
