import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import { type ReportJobRequest, RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { jobPhases } from '@platform/contract/job';
import { callerOf } from '../access/caller.ts';
import type { Cause, JobEvent } from './rules/job-life.ts';
import { type Caller, memberships, requireMember } from '../access/rules/permissions.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { leaseMs, leaseNext, takeBack } from './store/job-queue.ts';
import { type Report, writeReport } from './store/job-reports.ts';
import { type Awaited, held, watchJobs } from './store/job-watch.ts';
import { findJob, moveOn } from './store/jobs.ts';
import { runnerNotes, runnersSince } from './store/runners.ts';
import { complete } from './complete-job.ts';
import { leasedJob } from './leased-job.ts';
import { newestCalls } from './newest-calls.ts';
import { leaseLost, ownAttempt, type RunnerDeps } from './own-attempt.ts';
import { durationMs, msOf, timeOf } from '../rpc/protobuf-times.ts';
import { offerOf, runnerMessage } from './runner-messages.ts';

const longestWaitMs = 60_000;
/** Shorter than a lease, so that the lease cannot expire during a held report. */
const longestHoldMs = leaseMs / 2;
const maxLines = 20_000;
/** Runners that were not seen for this long are not listed. */
const shownMs = 30 * 24 * 3_600_000;

export const runnerRoutes =
  (deps: RunnerDeps) =>
  (router: ConnectRouter): void => {
    const { db, clock, steady, stop } = deps;
    const watch = watchJobs(deps.notifications);
    stop.addEventListener('abort', watch.close, { once: true });
    const newest = newestCalls();
    const notes = runnerNotes(db, clock);
    const by = (runner: string) => ({ actor: `runner:${runner}`, now: clock.wall() });
    const watching = (awaited: Awaited, signal: AbortSignal) => ({
      watch,
      awaited,
      clock,
      signal: AbortSignal.any([signal, stop]),
    });

    router.service(RunnerService, {
      async leaseJob(request, context) {
        const orgIds = runnerOrgs(callerOf(context));
        const runner = check.shortText('runner_id', request.runnerId);
        const { executor, ...told } = offerOf(runner, request);
        const containers = told.containers.map(({ key }) => key);
        const offer = { kinds: told.kinds, gpus: told.gpus, containers, hasQueue: executor !== 'local' };
        await notes.note(orgIds, { ...told, executor });
        const waitMs = clamp(durationMs(request.wait), 0, longestWaitMs);
        const want = () => ({ orgIds, runner, offer, now: clock.wall(), steadyNow: steady.now() });
        // A call that its runner has dropped must not lease a job. That job would not run, or a later call may have
        // leased it.
        const row = await newest(`${orgIds.join()} ${runner}`, context.signal, async (signal) => {
          const unheard = await takeBack(db, want(), request.runningJobIds);
          return unheard ?? held(watching({ orgIds }, signal), waitMs, () => leaseNext(db, want()));
        });
        return row ? { job: await leasedJob(deps, row) } : {};
      },

      async reportJob(request, context) {
        const before = await ownAttempt(deps, request, callerOf(context));
        const now = clock.wall();
        const event: JobEvent = {
          is: 'reported',
          attempt: request.attempt,
          runner: request.runnerId,
          leaseUntil: steady.now() + leaseMs,
        };
        const report = reportOf(request, now);
        const { row } = await moveOn(db, before, event, by(request.runnerId), (trx, job) =>
          writeReport(trx, job, report, now),
        );
        if (report.logs.length > 0) deps.jobLogs.written(row.id);
        await notes.touch(row.orgId, request.runnerId);
        const holdMs = row.state === 'in_progress' ? clamp(durationMs(request.hold), 0, longestHoldMs) : 0;
        const ordered =
          holdMs > 0
            ? await held(watching({ jobId: row.id }, context.signal), holdMs, async () => {
                const job = await findJob(db, row.id);
                return job?.state === 'in_progress' && job.attempt === row.attempt ? undefined : (job ?? 'gone');
              })
            : undefined;
        const last = ordered ?? row;
        if (last === 'gone' || last.attempt !== row.attempt || last.leaseUntil === null) throw leaseLost(request);
        return { stop: last.state === 'canceling', leaseUntil: timeOf(last.leaseUntil) };
      },

      completeJob: async (request, context) => ({ modelId: await complete(deps, request, callerOf(context)) }),

      async failJob(request, context) {
        const row = await ownAttempt(deps, request, callerOf(context));
        const cause = check.filled('cause', request.cause) as Cause;
        if (!causes.includes(cause)) {
          throw new PlatformError('INVALID_ARGUMENT', { field: 'cause', value: cause, limit: causes.join(', ') });
        }
        const failure = {
          cause,
          code: request.code.slice(0, 100) || 'INTERNAL',
          message: request.message.replaceAll('\0', '\uFFFD').slice(0, 4000),
        };
        const { attempt, runnerId: runner } = request;
        const event: JobEvent = { is: 'failed', attempt, runner, failure, now: steady.now() };
        const moved = await moveOn(db, row, event, by(request.runnerId));
        return { willRetry: moved.row.state === 'pending' };
      },

      async confirmStop(request, context) {
        const row = await ownAttempt(deps, request, callerOf(context));
        const event: JobEvent = { is: 'stopped', attempt: request.attempt, runner: request.runnerId };
        await moveOn(db, row, event, by(request.runnerId));
        return {};
      },

      async listRunners({ organizationId }, context) {
        const caller = callerOf(context);
        requireMember(caller, check.filled('organization_id', organizationId));
        const now = clock.wall();
        const { rows, isCut } = await runnersSince(db, [organizationId], now - shownMs);
        return { runners: rows.map((runner) => runnerMessage(runner, now)), truncated: isCut };
      },
    });
  };

const causes: readonly Cause[] = ['script', 'data', 'infrastructure'];
const clamp = (value: number, min: number, max: number): number => (value >= min ? Math.min(value, max) : min);

/** The organizations whose queue the caller serves. */
function runnerOrgs(caller: Caller): string[] {
  const orgIds = memberships(caller).flatMap(({ orgId, role }) =>
    role === 'runner' || role === 'owner' ? [orgId] : [],
  );
  if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'the job queue' });
  return [...new Set(orgIds)];
}

function reportOf(request: ReportJobRequest, now: number): Report {
  if (request.logs.length > maxLines || request.metrics.length > maxLines) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'logs',
      value: request.logs.length,
      limit: `at most ${maxLines} lines at once`,
    });
  }
  const isPhase = (jobPhases as readonly string[]).includes(request.phase);
  return {
    phase: isPhase ? request.phase : '',
    progress: clamp(request.progress, 0, 1),
    etaMs: request.eta ? Math.round(clamp(durationMs(request.eta), 0, 1e12)) : null,
    logs: request.logs.map((line) => ({
      sequence: Number(line.sequence),
      time: line.time ? msOf(line.time) : now,
      level: line.level || 'info',
      message: line.message,
    })),
    metrics: request.metrics.map((metric) => ({
      sequence: Number(metric.sequence),
      time: metric.time ? msOf(metric.time) : now,
      values: metric.values ?? {},
    })),
  };
}
