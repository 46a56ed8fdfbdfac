import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { PlatformError, connectCode, errorTable, isErrorCode } from '@platform/contract/errors/errors';
import {
  ModelType,
  type TrainingJobMetadataSchema,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { modelKind } from '@platform/contract/job/model-kinds';
import { frameworkOf } from '../registry/model-frameworks.ts';
import { durationOf, timeOf } from '../rpc/protobuf-times.ts';
import type { JobLine } from './store/job-lists.ts';
import type { Metric } from './store/job-reports.ts';
import type { JobRow } from './store/jobs.ts';

const statuses: Readonly<Record<JobRow['state'], TrainingStatus>> = {
  pending: TrainingStatus.PENDING,
  in_progress: TrainingStatus.IN_PROGRESS,
  completed: TrainingStatus.COMPLETED,
  failed: TrainingStatus.FAILED,
  canceled: TrainingStatus.CANCELED,
  canceling: TrainingStatus.CANCELING,
};

/**
 * The state that a status filters by; undefined for 0: all. @throws PlatformError INVALID_ARGUMENT for an unknown
 * number.
 */
export function stateOf(status: TrainingStatus): JobRow['state'] | undefined {
  if (status === TrainingStatus.UNSPECIFIED) return undefined;
  const found = (Object.keys(statuses) as JobRow['state'][]).find((state) => statuses[state] === status);
  if (found === undefined) {
    const limit = Object.values(statuses).join(', ');
    throw new PlatformError('INVALID_ARGUMENT', { field: 'status', value: status, limit: `0 for all, or ${limit}` });
  }
  return found;
}

/** google.rpc.Status of a failed job; its details stay empty. */
function errorStatus(row: JobLine): { code: number; message: string } | undefined {
  if (row.state !== 'failed') return undefined;
  const code = row.errorCode ?? '';
  return {
    code: isErrorCode(code) ? connectCode[errorTable[code].rpc] : connectCode.unknown,
    message: [code, row.errorMessage].filter(Boolean).join(': '),
  };
}

/** The public metadata of a job. `queuePosition` undefined: not queued. Rows of lists have no evaluation. */
export function metadataOf(
  row: JobLine & { evaluation?: JobRow['evaluation'] },
  queuePosition: number | undefined,
  metrics: readonly Metric[] = [],
): MessageInitShape<typeof TrainingJobMetadataSchema> {
  const status = errorStatus(row);
  const isCustom = row.kind === 'custom';
  const isOfTrainer = modelKind(row.kind) !== undefined;
  return {
    id: row.id,
    status: statuses[row.status],
    createdOn: timeOf(row.createdOn),
    lastModified: timeOf(row.changedOn),
    syncedModelId: row.modelId ?? '',
    ...(status ? { errorStatus: status } : {}),
    ...(row.startedOn === null ? {} : { trainingStarted: timeOf(row.startedOn) }),
    ...(row.endedOn === null ? {} : { trainingEnded: timeOf(row.endedOn) }),
    datasetId: row.datasetId,
    organizationId: row.orgId,
    modelName: row.modelName,
    modelVersion: row.modelVersion,
    modelType: modelKind(isOfTrainer ? row.kind : row.modelType)?.modelType ?? ModelType.UNSPECIFIED,
    tags: row.labels,
    modelFramework: frameworkOf(row.modelFramework),
    isCustomJob: isCustom,
    registryItemId: row.registryItemId,
    registryItemVersion: row.registryItemVersion,
    containerVersion: row.containerVersion,
    containerId: row.containerVersion,
    arguments: row.arguments,
    progress: row.progress,
    ...(row.etaMs === null ? {} : { eta: durationOf(row.etaMs) }),
    phase: row.phase,
    attempt: row.attempt,
    cause: row.cause ?? '',
    queuePosition: queuePosition ?? 0,
    datasetVersionId: row.datasetVersionId,
    ...(row.evaluation ? { evaluation: row.evaluation as JsonObject } : {}),
    ...(row.scoreName !== null && row.scoreValue !== null
      ? { score: { name: row.scoreName, value: row.scoreValue, count: row.scoreCount ?? 0 } }
      : {}),
    resources: {
      gpus: row.gpus,
      timeLimit: durationOf(row.limits.wall_seconds * 1000),
      memoryMib: row.limits.memory_mib,
      diskMib: row.limits.disk_mib,
    },
    ...(row.deadline === null || row.startedOn === null ? {} : { deadline: timeOf(row.deadline) }),
    runnerId: row.runnerId ?? '',
    kind: row.kind,
    metrics: metrics.map(({ sequence, time, values }) => ({
      sequence: BigInt(sequence),
      time: timeOf(time),
      values: values as JsonObject,
    })),
  };
}
