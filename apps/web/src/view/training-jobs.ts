import type { JsonObject } from '@bufbuild/protobuf';
import type { TrainingJobMetadata } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import {
  ModelFramework,
  ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { JobMetric } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import type { Word } from './machine-status.ts';
import { msOf, spanOf } from './times.ts';

const statusWords: Readonly<Record<number, Word>> = {
  [TrainingStatus.PENDING]: { tone: 'quiet', text: 'Queued' },
  [TrainingStatus.IN_PROGRESS]: { tone: 'busy', text: 'Running' },
  [TrainingStatus.COMPLETED]: { tone: 'good', text: 'Completed' },
  [TrainingStatus.FAILED]: { tone: 'bad', text: 'Failed' },
  [TrainingStatus.CANCELED]: { tone: 'quiet', text: 'Canceled' },
  [TrainingStatus.CANCELING]: { tone: 'warn', text: 'Canceling' },
};
const typeWords: Readonly<Record<number, string>> = {
  [ModelType.SINGLE_LABEL_CLASSIFICATION]: 'Single-label classification',
  [ModelType.MULTI_LABEL_CLASSIFICATION]: 'Multi-label classification',
  [ModelType.OBJECT_DETECTION]: 'Object detection',
};
export const modelTypeText = (type: ModelType): string => typeWords[type] ?? 'Custom script';

const frameworkWords: Readonly<Record<number, string>> = {
  [ModelFramework.TFLITE]: 'TFLite',
  [ModelFramework.TENSORFLOW]: 'TensorFlow',
  [ModelFramework.PYTORCH]: 'PyTorch',
  [ModelFramework.ONNX]: 'ONNX',
};

export interface JobView {
  id: string;
  modelName: string;
  modelVersion: string;
  datasetId: string;
  labels: readonly string[];
  type: string;
  framework: string;
  status: Word;
  isActive: boolean;
  mayCancel: boolean;
  mayDelete: boolean;
  /** 0..1; of a finished job 1. */
  progress: number;
  /** "training", empty while queued. */
  phase: string;
  eta: number | undefined;
  queuePosition: number;
  attempt: number;
  created: number | undefined;
  started: number | undefined;
  ended: number | undefined;
  accuracy: number | undefined;
  heldOut: number | undefined;
  /** Package id `<organization>/<model>`, empty before the end. */
  modelId: string;
  failure: { what: string; cause: string } | undefined;
}

const active: readonly TrainingStatus[] = [
  TrainingStatus.PENDING,
  TrainingStatus.IN_PROGRESS,
  TrainingStatus.CANCELING,
];
const numberIn = (from: JsonObject | undefined, key: string): number | undefined => {
  const value = from?.[key];
  return typeof value === 'number' ? value : undefined;
};

export function jobView(job: TrainingJobMetadata): JobView {
  const { status } = job;
  const isActive = active.includes(status);
  const isFailed = status === TrainingStatus.FAILED;
  return {
    id: job.id,
    modelName: job.modelName,
    modelVersion: job.modelVersion,
    datasetId: job.datasetId,
    labels: job.tags,
    type: job.isCustomJob ? 'Custom script' : modelTypeText(job.modelType),
    framework: frameworkWords[job.modelFramework] ?? 'ONNX',
    status: statusWords[status] ?? { tone: 'quiet', text: 'Unknown' },
    isActive,
    mayCancel: status === TrainingStatus.PENDING || status === TrainingStatus.IN_PROGRESS,
    mayDelete: !isActive,
    progress: status === TrainingStatus.COMPLETED ? 1 : Math.min(1, Math.max(0, job.progress)),
    phase: status === TrainingStatus.IN_PROGRESS ? job.phase : '',
    eta: isActive ? spanOf(job.eta) : undefined,
    queuePosition: status === TrainingStatus.PENDING ? job.queuePosition : 0,
    attempt: job.attempt,
    created: msOf(job.createdOn),
    started: msOf(job.trainingStarted),
    ended: msOf(job.trainingEnded),
    accuracy: numberIn(job.evaluation, 'accuracy'),
    heldOut: numberIn(job.evaluation, 'count'),
    modelId: job.syncedModelId,
    failure: isFailed
      ? { what: job.errorStatus?.message || 'The job failed without a reason.', cause: job.cause }
      : undefined,
  };
}

/** How long a job has run or ran. */
export const runTime = (job: JobView, now: number): number | undefined =>
  job.started === undefined ? undefined : (job.ended ?? now) - job.started;

/** Lines of one chart over the same x values; null where a metric was not reported. */
export interface Series {
  x: number[];
  lines: { name: string; values: (number | null)[] }[];
}

const notLines = new Set(['epoch', 'stage', 'seconds', 'learning_rate', 'step']);

/** "validation_accuracy" → "validation accuracy". */
const spoken = (name: string): string => name.replaceAll('_', ' ');

function seriesOf(points: readonly Record<string, unknown>[], isWanted: (name: string) => boolean): Series {
  const names = [...new Set(points.flatMap((point) => Object.keys(point)))].filter(
    (name) => !notLines.has(name) && isWanted(name) && points.some((point) => typeof point[name] === 'number'),
  );
  const rows = points.filter((point) => names.some((name) => typeof point[name] === 'number'));
  const x = rows.map((point, at) => (typeof point['epoch'] === 'number' ? point['epoch'] : at));
  const isRising = x.every((value, at) => at === 0 || value > (x[at - 1] ?? 0));
  return {
    x: isRising ? x : x.map((_, at) => at),
    lines: names.map((name) => ({
      name: spoken(name),
      values: rows.map((point) => (typeof point[name] === 'number' ? point[name] : null)),
    })),
  };
}

const isShare = (name: string): boolean => /accuracy|f1|precision|recall/.test(name);

/** Shares (0..1) and losses have scales of their own, so they get a chart each. */
export function chartsOf(points: readonly Record<string, unknown>[]): { shares: Series; losses: Series } {
  return {
    shares: seriesOf(points, isShare),
    losses: seriesOf(points, (name) => !isShare(name) && /loss|error/.test(name)),
  };
}

export const pointsOf = (metrics: readonly JobMetric[]): Record<string, unknown>[] =>
  metrics.toSorted((a, b) => (a.sequence < b.sequence ? -1 : 1)).map((metric) => metric.values ?? {});

/** Names of models become names of files. Undefined: the name is fine. */
export function modelNameProblem(name: string): string | undefined {
  if (name === '') return 'Give the model a name.';
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name)) {
    return 'Use letters, digits, dots, dashes and underscores, at most 128; the first a letter or digit.';
  }
  return undefined;
}

/** The tags that are labels; those with a colon, such as `split:test`, say how a picture is used. */
export const labelsAmong = (tags: readonly string[]): string[] =>
  tags.filter((tag) => !tag.startsWith('split:')).toSorted();
