import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { callerOf } from '../auth/caller.ts';
import { jobToken, logToken, readJobToken, readLogToken } from '../rules/page-tokens.ts';
import { type Caller, requireOwner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { actorOf } from '../store/audit.ts';
import { listJobs, queuePosition, queuePositions } from '../store/job-lists.ts';
import { readLogs, readMetrics } from '../store/job-reports.ts';
import { deleteEnded, findJob, type JobRow, moveOn } from '../store/jobs.ts';
import { timeOf } from './protobuf-times.ts';
import { metadataOf, stateOf } from './training-metadata.ts';
import { submit, submitCustom, type TrainingDeps } from './training-submit.ts';

const logPage = 500;
const mostJobs = 1000;

export const mlTrainingRoutes =
  (deps: TrainingDeps) =>
  (router: ConnectRouter): void => {
    const { db, clock } = deps;
    const ownJob = async (id: string, caller: Caller): Promise<JobRow> => {
      const absent = () => new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id });
      const row = await findJob(db, id);
      if (!row) throw absent();
      requireOwner(caller, row.orgId, absent);
      return row;
    };
    const byCaller = (caller: Caller) => ({ actor: actorOf(caller), now: clock.wall() });

    router.service(MLTrainingService, {
      submitTrainingJob: async (request, context) => ({ id: await submit(deps, request, callerOf(context)) }),
      submitCustomTrainingJob: async (request, context) => ({
        id: await submitCustom(deps, request, callerOf(context)),
      }),

      async getTrainingJob({ id }, context) {
        const row = await ownJob(id, callerOf(context));
        const position = row.state === 'pending' ? await queuePosition(db, row) : undefined;
        return { metadata: metadataOf(row, position, await readMetrics(db, row)) };
      },

      async listTrainingJobs({ organizationId: orgId, status, pageSize, pageToken }, context) {
        requireOwner(callerOf(context), check.filled('organization_id', orgId));
        if (pageSize > mostJobs) {
          const limit = `1 to ${mostJobs}, or 0 for all`;
          throw new PlatformError('INVALID_ARGUMENT', { field: 'page_size', value: pageSize, limit });
        }
        const after = readJobToken(pageToken);
        const size = pageSize === 0 ? undefined : pageSize;
        const { rows, next } = await listJobs(db, { orgId, status: stateOf(status), after, size });
        const positions = await queuePositions(db, rows);
        return {
          jobs: rows.map((row) => metadataOf(row, positions.get(row.id))),
          nextPageToken: next === undefined ? '' : jobToken(next),
        };
      },

      async cancelTrainingJob({ id }, context) {
        const caller = callerOf(context);
        await moveOn(db, await ownJob(id, caller), { is: 'canceled' }, byCaller(caller));
        return {};
      },

      async deleteCompletedTrainingJob({ id }, context) {
        const caller = callerOf(context);
        await deleteEnded(db, await ownJob(id, caller), byCaller(caller));
        return {};
      },

      async getTrainingJobLogs({ id, pageToken }, context) {
        const row = await ownJob(id, callerOf(context));
        const lines = await readLogs(db, row, readLogToken(pageToken ?? ''), logPage);
        const last = lines.at(-1);
        return {
          logs: lines.map((line) => ({ level: line.level, time: timeOf(line.time), message: line.message })),
          nextPageToken: last ? logToken(last) : '',
        };
      },

      // Custom scripts cannot run yet, so there is nothing that they could choose.
      listSupportedContainers: () => ({ containerMap: {} }),
    });
  };
