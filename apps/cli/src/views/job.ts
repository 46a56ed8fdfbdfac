import type { TrainingJobMetadata } from '@platform/client';
import {
  type JobResources,
  ModelFrameworkSchema,
  ModelTypeSchema,
  TrainingStatus,
  TrainingStatusSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { scoreText as measured } from '@platform/contract/job/confidence';
import { scoreName } from '@platform/contract/job/model-kinds';
import { formatDuration } from '@platform/kit';
import { ago, enumName, enumWord, isoTime } from '../output.ts';

/** TrainingStatus has two names for one value; this is the one in the API documentation. */
const statusName = (status: TrainingStatus): string =>
  status === TrainingStatus.IN_PROGRESS ? 'in_progress' : enumName(TrainingStatusSchema, status);
export const statusWord = (job: TrainingJobMetadata): string => statusName(job.status).replaceAll('_', ' ');

/** "single label classification", "custom script". */
const typeWord = (job: TrainingJobMetadata): string =>
  job.kind === 'predict' ? 'suggestions' : job.isCustomJob ? 'custom script' : enumWord(ModelTypeSchema, job.modelType);

/** "accuracy 91.5 % (86.8 to 94.6 %)"; '' before the end and if the script reported no score. */
export const scoreText = ({ score }: TrainingJobMetadata): string =>
  score ? `${scoreName(score.name)} ${measured(score.name, score.value, score.count)}` : '';

const seconds = (span: { seconds: bigint; nanos: number } | undefined): number | undefined =>
  span && Number(span.seconds) + span.nanos / 1e9;

/** Seconds from start to end, or until now; undefined before the start. */
export function runSeconds(job: TrainingJobMetadata, nowMs: number): number | undefined {
  if (!job.trainingStarted) return undefined;
  const end = job.trainingEnded ? Number(job.trainingEnded.seconds) : nowMs / 1000;
  return Math.max(0, end - Number(job.trainingStarted.seconds));
}

const resourcesJson = (of: JobResources | undefined): Record<string, number> => ({
  gpus: of?.gpus ?? 0,
  time_limit_seconds: seconds(of?.timeLimit) ?? 0,
  memory_mib: of?.memoryMib ?? 0,
  disk_mib: of?.diskMib ?? 0,
});

/** The job with its wire names; enums by name, times as ISO 8601, durations in seconds. */
export function jobJson(job: TrainingJobMetadata): Record<string, unknown> {
  return {
    id: job.id,
    status: statusName(job.status),
    organization_id: job.organizationId,
    dataset_id: job.datasetId,
    dataset_version_id: job.datasetVersionId,
    model_name: job.modelName,
    model_version: job.modelVersion,
    model_type: enumName(ModelTypeSchema, job.modelType),
    model_framework: enumName(ModelFrameworkSchema, job.modelFramework),
    tags: job.tags,
    kind: job.kind,
    is_custom_job: job.isCustomJob,
    registry_item_id: job.registryItemId,
    registry_item_version: job.registryItemVersion,
    arguments: job.arguments,
    container_version: job.containerVersion,
    synced_model_id: job.syncedModelId,
    created_on: isoTime(job.createdOn),
    last_modified: isoTime(job.lastModified),
    training_started: isoTime(job.trainingStarted),
    training_ended: isoTime(job.trainingEnded),
    deadline: isoTime(job.deadline),
    phase: job.phase,
    progress: job.progress,
    eta_seconds: seconds(job.eta) ?? null,
    attempt: job.attempt,
    queue_position: job.queuePosition,
    waiting_for: job.waitingFor,
    runner_id: job.runnerId,
    resources: resourcesJson(job.resources),
    score: job.score ? { name: job.score.name, value: job.score.value } : null,
    error: job.errorStatus ? { code: job.errorStatus.code, message: job.errorStatus.message, cause: job.cause } : null,
  };
}

export const jobColumns = ['model', 'version', 'type', 'status', 'score', 'created', 'id'] as const;

export const jobRow = (job: TrainingJobMetadata, nowMs: number): string[] => [
  job.modelName,
  job.modelVersion,
  typeWord(job).replace(' classification', ''),
  job.status === TrainingStatus.IN_PROGRESS ? `${Math.floor(job.progress * 100)} % ${job.phase}` : statusWord(job),
  scoreText(job),
  ago(job.createdOn, nowMs),
  job.id,
];

function limitText(job: TrainingJobMetadata): string {
  const { gpus = 0, memoryMib = 0, diskMib = 0, timeLimit } = job.resources ?? {};
  const parts = [
    gpus > 0 ? `${gpus} GPU${gpus > 1 ? 's' : ''}` : '',
    timeLimit ? formatDuration(Number(timeLimit.seconds)) : '',
    memoryMib > 0 ? `${memoryMib} MiB memory` : '',
    diskMib > 0 ? `${diskMib} MiB disk` : '',
  ];
  return parts.filter(Boolean).join(', ');
}

function timesText(job: TrainingJobMetadata, nowMs: number): string {
  const ran = runSeconds(job, nowMs);
  if (ran === undefined) return '';
  const attempts = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  return `${isoTime(job.trainingStarted)}, ${job.trainingEnded ? 'took' : 'for'} ${formatDuration(ran)}${attempts}`;
}

/** All details of a job for users, as names and values. */
export function jobDetails(job: TrainingJobMetadata, datasetName: string, nowMs: number): [string, string][] {
  const script = job.isCustomJob ? `${job.registryItemId} ${job.registryItemVersion}` : '';
  const running = job.status === TrainingStatus.IN_PROGRESS;
  return [
    ['model', `${job.modelName}/${job.modelVersion}`],
    ['status', statusWord(job)],
    ['progress', running ? `${Math.floor(job.progress * 100)} %, ${job.phase}` : ''],
    ['time left', running && job.eta ? `about ${formatDuration(Number(job.eta.seconds))}` : ''],
    ['queue', job.queuePosition > 0 ? `position ${job.queuePosition}` : ''],
    ['waiting for', job.waitingFor],
    ['score', scoreText(job)],
    [
      'type',
      [typeWord(job), enumWord(ModelFrameworkSchema, job.modelFramework)]
        .filter((one) => one && one !== 'unspecified')
        .join(', '),
    ],
    ['script', script],
    ['container', job.containerVersion],
    ['labels', job.tags.join(', ')],
    [
      'arguments',
      Object.entries(job.arguments)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => `${key}=${value}`)
        .join('\n'),
    ],
    ['dataset', datasetName],
    ['data version', job.datasetVersionId],
    ['limits', limitText(job)],
    ['created', isoTime(job.createdOn)],
    ['started', timesText(job, nowMs)],
    ['deadline', job.trainingEnded ? '' : isoTime(job.deadline)],
    ['runner', job.runnerId],
    ['id', job.id],
    ['failed', job.errorStatus ? `${job.errorStatus.message}${job.cause ? `\n(${job.cause})` : ''}` : ''],
  ];
}
