import { PlatformError } from '@platform/contract/errors';
import type { FollowedLogs } from './followed-logs.ts';
import { type AttemptCaller, type Caller, requireRunner } from '../access/rules/permissions.ts';
import { findJob, type JobRow } from './store/jobs.ts';
import type { Deps } from '../rpc-routes.ts';

export type RunnerDeps = Pick<
  Deps,
  'db' | 'blobs' | 'usage' | 'clock' | 'steady' | 'stop' | 'notifications' | 'authenticator'
> & { jobLogs: FollowedLogs };

/** How every call of a runner names what it speaks about. */
export type Attempt = { jobId: string; attempt: number; runnerId: string };

export const leaseLost = ({ jobId, attempt }: Attempt): PlatformError =>
  new PlatformError('LEASE_LOST', { jobId, attempt });

/**
 * The job, for a runner of its organization or for the very attempt. A job that is gone, or that the caller may not see, is a
 * lost lease: the runner drops it either way.
 */
export async function ownAttempt({ db }: RunnerDeps, request: Attempt, caller: Caller): Promise<JobRow> {
  if (caller.kind === 'attempt' && !isOf(caller, request)) throw leaseLost(request);
  const row = await findJob(db, request.jobId);
  if (!row) throw leaseLost(request);
  if (caller.kind !== 'attempt') requireRunner(caller, row.orgId, () => leaseLost(request));
  return row;
}

const isOf = (caller: AttemptCaller, { jobId, attempt, runnerId }: Attempt): boolean =>
  caller.id === jobId.toLowerCase() && caller.attempt === attempt && caller.runnerId === runnerId;
