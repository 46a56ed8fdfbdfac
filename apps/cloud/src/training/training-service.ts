import { create } from '@bufbuild/protobuf';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  MLTrainingService,
  type TrainingJobMetadata,
  TrainingJobMetadataSchema,
  Visibility,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Database } from '../database/database.ts';
import type { FollowedLogs } from './followed-logs.ts';
import { sizeOf, wholeAnswer } from '../rpc/rules/answer-bounds.ts';
import { isEnded } from './rules/job-life.ts';
import { jobToken, logToken, readJobToken, readLogToken } from '../rpc/rules/page-tokens.ts';
import { type Caller, isOwner, memberships, requireOwner } from '../access/rules/permissions.ts';
import { containersOf, capabilitiesLifetimeMs, silentRunnerMs, waitingFor } from './rules/runner-capabilities.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { actorOf } from '../access/store/audit.ts';
import { type JobLine, type List, listJobs, queuePlaces } from './store/job-lists.ts';
import { readMetrics } from './store/job-reports.ts';
import { deleteEnded, findJob, type JobRow, moveOn } from './store/jobs.ts';
import { runnersSince } from './store/runners.ts';
import { durationMs, timeOf } from '../rpc/protobuf-times.ts';
import { containerMessage } from './runner-messages.ts';
import { metadataOf, stateOf } from './training-metadata.ts';
import { submitCustom } from './custom-submit.ts';
import { checkTrainingData, submit, type TrainingDeps } from './training-submit.ts';

/** Shorter than clients' timeouts of a call. */
const longestWaitMs = 50_000;
const mostJobs = 1000;

type JobReads = { db: Database; clock: Clock };

/** Explains why a job does not start; '': it runs, or only waits for its turn. */
async function whyWaiting(
  { db, clock }: JobReads,
  orgId: string,
  rows: readonly JobLine[],
): Promise<(row: JobLine) => string> {
  if (!rows.some(({ state }) => state === 'pending')) return () => '';
  const { rows: runners } = await runnersSince(db, [orgId], clock.wall() - capabilitiesLifetimeMs);
  return ({ state, kind, gpus, containerVersion: container }) =>
    state === 'pending' ? waitingFor({ kind, gpus, container }, runners) : '';
}

const placesOf = ({ db, clock }: JobReads, orgId: string) =>
  queuePlaces(db, async () => (await runnersSince(db, [orgId], clock.wall() - silentRunnerMs)).rows);

const readCalls = (deps: JobReads) =>
  ({
    async getTrainingJob({ id }, context) {
      const row = await ownJob(deps.db, id, callerOf(context));
      const places = await placesOf(deps, row.orgId)([row]);
      const metadata = metadataOf(row, places.get(row.id), await readMetrics(deps.db, row));
      return { metadata: { ...metadata, waitingFor: (await whyWaiting(deps, row.orgId, [row]))(row) } };
    },

    async listTrainingJobs({ organizationId: orgId, status, pageSize, pageToken, includePredictions }, context) {
      requireOwner(callerOf(context), check.filled('organization_id', orgId));
      if (pageSize > mostJobs) {
        const limit = `1 to ${mostJobs}, or 0 for the newest ${wholeAnswer.rows}`;
        throw new PlatformError('INVALID_ARGUMENT', { field: 'page_size', value: pageSize, limit });
      }
      const after = readJobToken(pageToken);
      return jobPage(deps, { orgId, status: stateOf(status), after, hasPredictions: includePredictions }, pageSize);
    },
  }) satisfies Partial<ServiceImpl<typeof MLTrainingService>>;

/** A page of jobs. @param pageSize - 0: the newest jobs that fit into one response. */
async function jobPage(deps: JobReads, list: List, pageSize: number) {
  const places = placesOf(deps, list.orgId);
  const jobs: TrainingJobMetadata[] = [];
  let last = 0;
  let bytes = 0;
  const most = pageSize === 0 ? wholeAnswer.rows : pageSize;
  // One more than requested shows whether there is another page.
  for await (const rows of listJobs(deps.db, list, most + 1)) {
    const [placeOf, why] = [await places(rows), await whyWaiting(deps, list.orgId, rows)];
    for (const row of rows) {
      bytes += sizeOf(row);
      if (jobs.length === most || (bytes > wholeAnswer.bytes && jobs.length > 0))
        return { jobs, nextPageToken: jobToken(last), truncated: pageSize === 0 };
      const metadata = { ...metadataOf(row, placeOf.get(row.id)), waitingFor: why(row) };
      jobs.push(create(TrainingJobMetadataSchema, metadata));
      last = row.ordinal;
    }
  }
  return { jobs };
}

const editCalls = (deps: TrainingDeps) => {
  const { db, clock } = deps;
  const byCaller = (caller: Caller) => ({ actor: actorOf(caller), now: clock.wall() });
  return {
    submitTrainingJob: async (request, context) => ({ id: await submit(deps, request, callerOf(context)) }),
    checkTrainingData: (request, context) => checkTrainingData(deps, request, callerOf(context)),
    submitCustomTrainingJob: async (request, context) => ({
      id: await submitCustom(deps, request, callerOf(context)),
    }),

    async cancelTrainingJob({ id }, context) {
      const caller = callerOf(context);
      await moveOn(db, await ownJob(db, id, caller), { is: 'canceled' }, byCaller(caller));
      return {};
    },

    async deleteCompletedTrainingJob({ id }, context) {
      const caller = callerOf(context);
      await deleteEnded(db, await ownJob(db, id, caller), byCaller(caller), caller);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof MLTrainingService>>;
};

const logCalls = ({ jobLogs, stop }: { jobLogs: FollowedLogs; stop: AbortSignal }) =>
  ({
    async getTrainingJobLogs({ id, pageToken, wait }, context) {
      const caller = callerOf(context);
      const after = readLogToken(pageToken ?? '');
      const waitMs = Math.min(Math.max(durationMs(wait), 0), longestWaitMs);
      const signal = AbortSignal.any([context.signal, stop]);
      const page = await jobLogs.read({ jobId: id, after, waitMs, signal }, ({ row, lines }, isLast) => {
        const { state } = owned(row, id, caller);
        const isOver = isEnded({ at: state });
        if (lines.length === 0 && !isOver && !isLast) return undefined;
        const last = lines.at(-1) ?? (waitMs > 0 && !isOver ? after : undefined);
        return {
          logs: lines.map((line) => ({ level: line.level, time: timeOf(line.time), message: line.message })),
          nextPageToken: last ? logToken(last) : '',
        };
      });
      return page ?? {};
    },
  }) satisfies Partial<ServiceImpl<typeof MLTrainingService>>;

const containerCalls = ({ db, clock }: { db: Database; clock: Clock }) =>
  ({
    async listContainers({ organizationId }, context) {
      const orgId = check.filled('organization_id', organizationId);
      requireOwner(callerOf(context), orgId);
      const { rows, isCut } = await runnersSince(db, [orgId], clock.wall() - capabilitiesLifetimeMs);
      return { containers: [...containersOf(rows).values()].map(ownedContainer), truncated: isCut };
    },
    async getContainer({ id }, context) {
      const orgIds = ownedOrganizations(callerOf(context));
      const { rows } = await runnersSince(db, orgIds, clock.wall() - capabilitiesLifetimeMs);
      const known = containersOf(rows);
      const found = known.get(id);
      if (!found)
        throw new PlatformError('CONTAINER_NOT_FOUND', { container: id, known: [...known.keys()].join(', ') });
      return { container: ownedContainer(found) };
    },
    async listSupportedContainers(_, context) {
      const orgIds = ownedOrganizations(callerOf(context));
      const { rows, isCut } = await runnersSince(db, orgIds, clock.wall() - capabilitiesLifetimeMs);
      const map = [...containersOf(rows)].map(([key, container]) => [key, containerMessage(container)]);
      const containerMap = Object.fromEntries(map) as Record<string, ReturnType<typeof containerMessage>>;
      return { containerMap, truncated: isCut };
    },
  }) satisfies Partial<ServiceImpl<typeof MLTrainingService>>;

export const mlTrainingRoutes =
  (deps: TrainingDeps & { jobLogs: FollowedLogs }) =>
  (router: ConnectRouter): void => {
    router.service(MLTrainingService, {
      ...readCalls(deps),
      ...editCalls(deps),
      ...logCalls(deps),
      ...containerCalls(deps),
    });
  };

const ownJob = async (db: Database, id: string, caller: Caller): Promise<JobRow> =>
  owned(await findJob(db, id), id, caller);

/** @throws PlatformError NOT_OWNER */
function ownedOrganizations(caller: Caller): string[] {
  const orgIds = memberships(caller).flatMap(({ orgId }) => (isOwner(caller, orgId) ? [orgId] : []));
  if (orgIds.length === 0) throw new PlatformError('NOT_OWNER');
  return orgIds;
}

/** A container is visible only to the organization of its runner. */
const ownedContainer = (container: Parameters<typeof containerMessage>[0]) => ({
  ...containerMessage(container),
  id: container.key,
  visibility: Visibility.PRIVATE,
});

/** @throws PlatformError TRAINING_JOB_NOT_FOUND, NOT_OWNER */
function owned(row: JobRow | undefined, id: string, caller: Caller): JobRow {
  const absent = () => new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id });
  if (!row) throw absent();
  requireOwner(caller, row.orgId, absent);
  return row;
}
