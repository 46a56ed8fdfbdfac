import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type DatasetService,
  SequenceDatasetExportStatus,
} from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { requireMember } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { signedPath } from '../access/signed-urls.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { sequenceDataset } from './sequence-calls.ts';
import { exportPath } from './sequence-export-downloads.ts';
import { findExport, type SequenceExport, startExport } from './store/sequence-exports.ts';

const linkMs = 3_600_000;

const statuses: Readonly<Record<SequenceExport['state'], SequenceDatasetExportStatus>> = {
  running: SequenceDatasetExportStatus.RUNNING,
  completed: SequenceDatasetExportStatus.COMPLETED,
  failed: SequenceDatasetExportStatus.FAILED,
};

export const sequenceExportCalls = (deps: { db: Database; clock: Clock; addresses: Addresses; secrets: Secrets }) => {
  const { db, clock, secrets } = deps;
  return {
    async startSequenceDatasetExport({ datasetId }, context) {
      const dataset = await sequenceDataset(db, datasetId, callerOf(context));
      return { jobId: await startExport(db, dataset, clock.wall()) };
    },

    async getSequenceDatasetExport({ jobId }, context) {
      const absent = () => new PlatformError('DATASET_EXPORT_NOT_FOUND', { jobId });
      const found = await findExport(db, jobId);
      if (!found) throw absent();
      requireMember(callerOf(context), found.orgId, absent);
      const { state, createdOn, completedOn, errorMessage } = found;
      const expiresAt = Math.floor(clock.wall() / 1000) * 1000 + linkMs;
      const link = () =>
        `${baseUrlOf(deps, context)}${signedPath(secrets.signingKey, exportPath(found.id), expiresAt, callerOf(context))}`;
      return {
        jobId: found.id,
        status: statuses[state],
        errorMessage,
        createdAt: timeOf(createdOn),
        ...(completedOn !== null && { completedAt: timeOf(completedOn) }),
        ...(state === 'completed' && { downloadUrl: link(), expiresAt: timeOf(expiresAt) }),
      };
    },
  } satisfies Partial<ServiceImpl<typeof DatasetService>>;
};
