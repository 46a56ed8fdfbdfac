import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { callerOf } from '../auth/caller.ts';
import { logToken, readLogToken } from '../rules/page-tokens.ts';
import { type Caller, requireOwner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { actorOf } from '../store/audit.ts';
import { readLogs, readMetrics } from '../store/job-reports.ts';
import { deleteEnded, findJob, type JobRow, listJobs, moveOn, queuePositions } from '../store/jobs.ts';
import { timeOf } from './protobuf-times.ts';
import { metadataOf, stateOf } from './training-metadata.ts';
import { submit, submitCustom, type TrainingDeps } from './training-submit.ts';

const logPage = 500;

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
        const positions = row.state === 'pending' ? await queuePositions(db, row.orgId) : undefined;
        return { metadata: metadataOf(row, positions?.get(row.id), await readMetrics(db, row)) };
      },

      async listTrainingJobs({ organizationId, status }, context) {
        requireOwner(callerOf(context), check.filled('organization_id', organizationId));
        const rows = await listJobs(db, organizationId, stateOf(status));
        const positions = rows.some((row) => row.state === 'pending')
          ? await queuePositions(db, organizationId)
          : undefined;
        return { jobs: rows.map((row) => metadataOf(row, positions?.get(row.id))) };
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
