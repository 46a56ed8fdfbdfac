import type { JsonObject } from '@bufbuild/protobuf';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import {
  type CompleteJobRequest,
  type JobFile,
  type LeaseJobRequest,
  type ReportJobRequest,
  RunnerService,
} from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { jobKinds, jobPhases, type JobSpec } from '@platform/contract/job';
import type { Clock } from '@platform/kit';
import { callerOf } from '../auth/caller.ts';
import { packFiles, type PackedFile } from '../blobs/package-archive.ts';
import { type Cause, type JobEvent, step } from '../rules/job-life.ts';
import { type Caller, memberships, requireRunner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { at } from '../store/database.ts';
import { type Report, writeReport } from '../store/job-reports.ts';
import { leaseMs, leaseNext, type Offer, takeBack } from '../store/job-queue.ts';
import { type Awaited, held, watchJobs } from '../store/job-watch.ts';
import { findJob, jobOf, type JobRow, moveOn } from '../store/jobs.ts';
import { noteBlob, ownedBlobs } from '../store/owned-blobs.ts';
import { publish } from '../store/registry.ts';
import { newestCalls } from './newest-calls.ts';
import { durationMs, msOf, timeOf } from './protobuf-times.ts';
import type { Deps } from './routes.ts';

type RunnerDeps = Pick<Deps, 'db' | 'blobs' | 'clock' | 'steady' | 'stop' | 'notifications'>;

const longestWaitMs = 60_000;
/** Shorter than a lease, so that a held report never lets it run out. */
const longestHoldMs = leaseMs / 2;
/** While the package is made the server itself keeps the lease. */
const renewMs = leaseMs / 3;
const maxFiles = 1000;
const maxLines = 20_000;

type Attempt = { jobId: string; attempt: number; runnerId: string };

export const runnerRoutes =
  (deps: RunnerDeps) =>
  (router: ConnectRouter): void => {
    const { db, clock, steady, stop } = deps;
    const watch = watchJobs(deps.notifications);
    stop.addEventListener('abort', watch.close, { once: true });
    const newest = newestCalls();
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
        const offer = offerOf(request);
        const waitMs = clamp(durationMs(request.wait), 0, longestWaitMs);
        const want = () => ({ orgIds, runner, offer, now: clock.wall(), steadyNow: steady.now() });
        // A call that its runner gave up must not take a job that nobody would run, nor one that a later call got.
        const row = await newest(`${orgIds.join()} ${runner}`, context.signal, async (signal) => {
          const unheard = await takeBack(db, want(), request.runningJobIds);
          return unheard ?? held(watching({ orgIds }, signal), waitMs, () => leaseNext(db, want()));
        });
        return row ? { job: leased(row) } : {};
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
    });
  };

const causes: readonly Cause[] = ['script', 'data', 'infrastructure'];
const clamp = (value: number, min: number, max: number): number => (value >= min ? Math.min(value, max) : min);
const leaseLost = ({ jobId, attempt }: Attempt): PlatformError => new PlatformError('LEASE_LOST', { jobId, attempt });

function offerOf({ kinds, gpus, containers, executor }: LeaseJobRequest): Offer {
  const known = kinds.filter((kind) => (jobKinds as readonly string[]).includes(kind));
  if (known.length === 0) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'kinds',
      value: kinds.join(', '),
      limit: jobKinds.join(', '),
    });
  }
  const hasQueue = executor !== '' && executor !== 'local';
  return { kinds: known, gpus, containers: containers.map(({ key }) => key), hasQueue };
}

/** The organizations whose queue the caller serves. */
function runnerOrgs(caller: Caller): string[] {
  const orgIds = memberships(caller).flatMap(({ orgId, role }) =>
    role === 'runner' || role === 'owner' ? [orgId] : [],
  );
  if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'the job queue' });
  return [...new Set(orgIds)];
}

/** A job that is gone, or that the caller may not see, is a lost lease: the runner drops it either way. */
async function ownAttempt({ db }: RunnerDeps, request: Attempt, caller: Caller): Promise<JobRow> {
  const row = await findJob(db, request.jobId);
  if (!row) throw leaseLost(request);
  requireRunner(caller, row.orgId, () => leaseLost(request));
  return row;
}

function leased(row: JobRow) {
  return {
    id: row.id,
    attempt: row.attempt,
    organizationId: row.orgId,
    spec: specOf(row) as unknown as JsonObject,
    manifestSha256: row.manifestSha256,
    ...(row.leaseUntil === null ? {} : { leaseUntil: timeOf(row.leaseUntil) }),
    ...(row.deadline === null ? {} : { deadline: timeOf(row.deadline) }),
  };
}

const specOf = (row: JobRow): JobSpec => ({
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
  ...(row.arguments['recipe'] ? { recipe: row.arguments['recipe'] } : {}),
  dataset_id: row.datasetId,
  dataset_version_id: row.datasetVersionId,
});

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

/**
 * Files into one package, then in one transaction: version in the registry and job completed. The same call again answers the
 * same; an attempt that is over, or unknown, is a lost lease.
 */
async function complete(deps: RunnerDeps, request: CompleteJobRequest, caller: Caller): Promise<string> {
  const { db, blobs, clock, steady } = deps;
  const row = await ownAttempt(deps, request, caller);
  const { attempt, runnerId: runner } = request;
  const event: JobEvent = { is: 'completed', attempt, runner };
  const by = () => ({ actor: `runner:${runner}`, now: clock.wall() });
  const first = step(jobOf(row), event);
  if (!first.ok) throw leaseLost(request);
  const modelId = `${row.orgId}/${row.modelName}`;
  if (!first.changed) return modelId;
  const files = await storedFiles(deps, row.orgId, request.files);
  const renew = async (): Promise<void> => {
    await moveOn(db, row, { is: 'reported', attempt, runner, leaseUntil: steady.now() + leaseMs }, by());
  };
  const packed = await whileRenewing(renew, clock, () => packFiles(blobs, files));
  const evaluation = request.evaluation ?? null;
  const moved = await moveOn(db, row, event, by(), async (trx, job) => {
    if (job.state !== 'completed') return;
    const { now } = by();
    await noteBlob(trx, row.orgId, packed);
    await publish(trx, {
      orgId: row.orgId,
      name: row.modelName,
      type: 'ml_model',
      version: row.modelVersion,
      packed,
      files: files.map((file) => ({ path: file.path, sha256: file.sha256, size_bytes: file.sizeBytes })),
      metadata: { model_type: row.kind, model_framework: row.modelFramework },
      lineage: {
        jobId: row.id,
        datasetId: row.datasetId,
        datasetVersionId: row.datasetVersionId,
        script: row.registryItemId ? { id: row.registryItemId, version: row.registryItemVersion } : undefined,
        evaluation,
      },
      now,
    });
    await trx
      .updateTable('trainingJob')
      .set({ modelId, evaluation: evaluation ? JSON.stringify(evaluation) : null, changedOn: at(now) })
      .where('orgId', '=', row.orgId)
      .where('id', '=', row.id)
      .execute();
  });
  // Canceled while it was publishing: the result is not wanted.
  if (moved.row.state !== 'completed') throw leaseLost(request);
  return modelId;
}

/** Renews the lease at once and again and again until `work` is done. @throws what either throws. */
async function whileRenewing<T>(renew: () => Promise<void>, clock: Clock, work: () => Promise<T>): Promise<T> {
  await renew();
  const done = new AbortController();
  const renewing = (async () => {
    for (;;) {
      await clock.sleep(renewMs, done.signal);
      if (done.signal.aborted) return;
      await renew();
    }
  })();
  try {
    // A lease that is lost meanwhile ends the work early.
    return await Promise.race([work(), renewing.then(() => new Promise<never>(() => {}))]);
  } finally {
    done.abort();
  }
}

/** @throws PlatformError INVALID_ARGUMENT, BLOB_MISSING */
async function storedFiles({ db, blobs }: RunnerDeps, orgId: string, files: readonly JobFile[]): Promise<PackedFile[]> {
  if (files.length === 0 || files.length > maxFiles) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'files',
      value: `${files.length} files`,
      limit: `1 to ${maxFiles}`,
    });
  }
  const owned = await ownedBlobs(
    db,
    orgId,
    files.map((file) => file.sha256),
  );
  const paths = new Set<string>();
  const stored: PackedFile[] = [];
  for (const [index, file] of files.entries()) {
    const path = check.packagePath(`files[${index}].path`, file.path);
    if (paths.has(path))
      throw new PlatformError('INVALID_ARGUMENT', {
        field: `files[${index}].path`,
        value: path,
        limit: 'each path once',
      });
    paths.add(path);
    const sizeBytes = owned.get(file.sha256);
    const head = sizeBytes === undefined ? undefined : await blobs.head(file.sha256);
    if (!head) throw new PlatformError('BLOB_MISSING', { sha256: file.sha256, path });
    if (head.sizeBytes !== Number(file.sizeBytes)) {
      throw new PlatformError('INVALID_ARGUMENT', {
        field: `files[${index}].size_bytes`,
        value: Number(file.sizeBytes),
        limit: `the stored file has ${head.sizeBytes} bytes`,
      });
    }
    stored.push({ path, sha256: file.sha256, sizeBytes: head.sizeBytes });
  }
  return stored;
}
