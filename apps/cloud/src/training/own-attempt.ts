import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import type { Authenticator } from '../access/authenticate.ts';
import { type AttemptCaller, type Caller, requireRunner } from '../access/rules/permissions.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/notifications.ts';
import type { SteadyTime } from '../process/steady-time.ts';
import type { FollowedLogs } from './followed-logs.ts';
import { findJob, type JobRow } from './store/jobs.ts';

export type RunnerDeps = {
  db: Database;
  blobs: BlobStore;
  usage: OrganizationUsage;
  clock: Clock;
  steady: SteadyTime;
  stop: AbortSignal;
  notifications: Notifications;
  authenticator: Authenticator;
} & { jobLogs: FollowedLogs };

/** Every call of a runner names its attempt by these fields. */
export type Attempt = { jobId: string; attempt: number; runnerId: string };

export const leaseLost = ({ jobId, attempt }: Attempt): PlatformError =>
  new PlatformError('LEASE_LOST', { jobId, attempt });

/**
 * Finds the job for a runner of its organization or for the attempt itself. Throws LEASE_LOST for a deleted job, and
 * for one that the caller may not see: the runner drops both.
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
