import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { type ReportJobRequest, RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { jobPhases, type JobSpec } from '@platform/contract/job/job';
import { callerOf } from '../access/caller.ts';
import type { Cause, JobEvent } from './rules/job-life.ts';
import { type Caller, memberships, requireMember } from '../access/rules/permissions.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { leaseMs, leaseNext, recoverLeases } from './store/job-queue.ts';
import { type Report, writeLogs, writeReport } from './store/job-reports.ts';
import { type JobWatch, pollJobs, watchJobs, type WatchTarget } from './store/job-watch.ts';
import { findJob, type JobRow, moveOn } from './store/jobs.ts';
import { type RunnerNotes, runnerNotes, runnersSince } from './store/runners.ts';
import { complete } from './complete-job.ts';
import { leaseLost, ownAttempt, type RunnerDeps } from './own-attempt.ts';
import { durationMs, msOf, timeOf } from '../rpc/protobuf-times.ts';
import { capabilitiesOf, runnerMessage } from './runner-messages.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import { modelFrameworks } from '@platform/contract/job/model-kinds';
import { createScriptKey } from './store/attempts.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const longestWaitMs = 60_000;
/** Shorter than a lease, so that the lease cannot expire during a held report. */
const longestHoldMs = leaseMs / 2;
const maxLines = 20_000;
/** Runners that were not seen for this long are not listed. */
const shownMs = 30 * 24 * 3_600_000;

/** What the calls of runners share. */
type RunnerCalls = RunnerDeps & { watch: JobWatch; notes: RunnerNotes };

const byRunner = (runner: string, now: number) => ({ actor: `runner:${runner}`, now });

/** What a long poll needs; it ends when the caller leaves or the server stops. */
const polling = ({ watch, clock, stop }: RunnerCalls, target: WatchTarget, signal: AbortSignal) => ({
  watch,
  target,
  clock,
  signal: AbortSignal.any([signal, stop]),
});

const leaseCalls = (deps: RunnerCalls, newest = newestCalls()) => {
  const { db, clock, steady, notes } = deps;
  return {
    async leaseJob(request, context) {
      const orgIds = runnerOrgs(callerOf(context));
      const runner = check.shortText('runner_id', request.runnerId);
      const reported = capabilitiesOf(runner, request);
      await notes.note(orgIds, reported);
      const { kinds, gpus, executor } = reported;
      const containers = reported.containers.map(({ key }) => key);
      const capabilities = { kinds, gpus, containers, hasQueue: executor !== 'local' };
      const waitMs = clamp(durationMs(request.wait), 0, longestWaitMs);
      const leaseRequest = () => ({ orgIds, runner, capabilities, now: clock.wall(), steadyNow: steady.now() });
      // A call that its runner has dropped must not lease a job. That job would not run, or a later call may have
      // leased it.
      const row = await newest(`${orgIds.join()} ${runner}`, context.signal, async (signal) => {
        const recovered = await recoverLeases(db, leaseRequest(), request.runningJobIds);
        return recovered ?? pollJobs(polling(deps, { orgIds }, signal), waitMs, () => leaseNext(db, leaseRequest()));
      });
      return row ? { job: await leasedJob(deps, row) } : {};
    },
  } satisfies Partial<ServiceImpl<typeof RunnerService>>;
};

const reportCalls = (deps: RunnerCalls) => {
  const { db, clock, steady, notes } = deps;
  return {
    async reportJob(request, context) {
      const before = await ownAttempt(deps, request, callerOf(context));
      const { attempt, runnerId: runner } = request;
      const now = clock.wall();
      const event: JobEvent = { is: 'reported', attempt, runner, leaseUntil: steady.now() + leaseMs };
      const report = reportOf(request, now);
      const { row } = await moveOn(db, before, event, byRunner(runner, now), (trx, job) =>
        writeReport(trx, job, report, now),
      );
      if (report.logs.length > 0) deps.jobLogs.written(row.id);
      await notes.touch(row.orgId, runner);
      const holdMs = row.state === 'in_progress' ? clamp(durationMs(request.hold), 0, longestHoldMs) : 0;
      const current = await holdReport(deps, row, holdMs, context.signal);
      if (current?.attempt !== row.attempt || current.leaseUntil === null) throw leaseLost(request);
      return { stop: current.state === 'canceling', leaseUntil: timeOf(current.leaseUntil) };
    },
  } satisfies Partial<ServiceImpl<typeof RunnerService>>;
};

/** Waits until the attempt no longer runs, at most `holdMs`. @returns the job; undefined: it was deleted. */
async function holdReport(
  deps: RunnerCalls,
  row: JobRow,
  holdMs: number,
  signal: AbortSignal,
): Promise<JobRow | undefined> {
  if (holdMs <= 0) return row;
  const found = await pollJobs(polling(deps, { jobId: row.id }, signal), holdMs, async () => {
    const job = await findJob(deps.db, row.id);
    return job?.state === 'in_progress' && job.attempt === row.attempt ? undefined : { job };
  });
  return found ? found.job : row;
}

const causes: readonly Cause[] = ['script', 'data', 'infrastructure'];
/** Calls that end an attempt. */
const endCalls = (deps: RunnerDeps) => {
  const { db, clock, steady } = deps;
  return {
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
      const moved = await moveOn(db, row, event, byRunner(request.runnerId, clock.wall()));
      return { willRetry: moved.row.state === 'pending' };
    },

    async confirmStop(request, context) {
      const row = await ownAttempt(deps, request, callerOf(context));
      const event: JobEvent = { is: 'stopped', attempt: request.attempt, runner: request.runnerId };
      await moveOn(db, row, event, byRunner(request.runnerId, clock.wall()));
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof RunnerService>>;
};

const listCalls = ({ db, clock }: RunnerDeps) =>
  ({
    async listRunners({ organizationId }, context) {
      const caller = callerOf(context);
      requireMember(caller, check.filled('organization_id', organizationId));
      const now = clock.wall();
      const { rows, isCut } = await runnersSince(db, [organizationId], now - shownMs);
      return { runners: rows.map((runner) => runnerMessage(runner, now)), truncated: isCut };
    },
  }) satisfies Partial<ServiceImpl<typeof RunnerService>>;

export const runnerRoutes =
  (deps: RunnerDeps) =>
  (router: ConnectRouter): void => {
    const watch = watchJobs(deps.notifications);
    deps.stop.addEventListener('abort', watch.close, { once: true });
    const shared = { ...deps, watch, notes: runnerNotes(deps.db, deps.clock) };
    router.service(RunnerService, {
      ...leaseCalls(shared),
      ...reportCalls(shared),
      ...endCalls(deps),
      ...listCalls(deps),
    });
  };

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
    throw invalidArgument('logs', request.logs.length, `at most ${maxLines} lines at once`);
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

/** Limits each key to one call. A newer call aborts the older one, waits until it has ended, and then starts. */
function newestCalls(): <T>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T> {
  const open = new Map<string, { end: AbortController; done: Promise<unknown> }>();
  return async (key, signal, work) => {
    const before = open.get(key);
    const end = new AbortController();
    const run = async () => {
      before?.end.abort();
      await before?.done.catch(() => {});
      return work(AbortSignal.any([signal, end.signal]));
    };
    const done = run();
    const mine = { end, done };
    open.set(key, mine);
    try {
      return await done;
    } finally {
      if (open.get(key) === mine) open.delete(key);
    }
  };
}

/** The data of a lease: the job, a token for this attempt and, for a script, a key for data. */
async function leasedJob({ db, clock, authenticator, jobLogs }: RunnerDeps, row: JobRow) {
  if (row.attempt > 1) {
    // Sequence 0 puts this line first, and stores it once even if the lease is sent again.
    const message = `Attempt ${row.attempt} begins; what stands above is of an attempt that ended without a result.`;
    await writeLogs(db, row, row.attempt, [{ sequence: 0, time: clock.wall(), level: 'info', message }]);
    jobLogs.written(row.id);
  }
  const script = row.kind === 'custom' ? await createScriptKey(db, row) : undefined;
  return {
    id: row.id,
    attempt: row.attempt,
    organizationId: row.orgId,
    spec: specOf(row) as unknown as JsonObject,
    manifestSha256: row.manifestSha256,
    ...(row.leaseUntil === null ? {} : { leaseUntil: timeOf(row.leaseUntil) }),
    ...(row.deadline === null ? {} : { deadline: timeOf(row.deadline) }),
    ...(script && { scriptCredentials: { apiKeyId: script.id, apiKey: script.key } }),
    attemptToken: await authenticator.attemptToken(row.id, row.attempt),
  };
}

function specOf(row: JobRow): JobSpec {
  const framework = modelFrameworks.find((made) => made === row.modelFramework);
  return {
    id: row.id,
    attempt: row.attempt,
    org_id: row.orgId,
    kind: row.kind as JobSpec['kind'],
    model_name: row.modelName,
    model_version: row.modelVersion,
    labels: row.labels,
    arguments: row.arguments,
    seed: row.seed,
    limits: row.limits,
    deadline: new Date(row.deadline ?? 0).toISOString(),
    dataset_id: row.datasetId,
    dataset_version_id: row.datasetVersionId,
    ...(row.kind !== 'custom' && row.arguments['recipe'] ? { recipe: row.arguments['recipe'] } : {}),
    ...(row.kind !== 'custom' && framework ? { framework } : {}),
    ...packageOf(row),
    ...(row.containerVersion ? { container_version: row.containerVersion } : {}),
  };
}

/** The package that the job runs with: a script, or the model of a prediction. */
function packageOf(row: JobRow): Pick<JobSpec, 'script' | 'model'> {
  const { registryItemId, registryItemVersion: version, scriptSha256: sha256 } = row;
  if (sha256 === null) return {};
  if (row.kind === 'predict') return { model: { name: row.modelName, version, package_sha256: sha256 } };
  return { script: { registry_item_id: registryItemId, version, package_sha256: sha256 } };
}
