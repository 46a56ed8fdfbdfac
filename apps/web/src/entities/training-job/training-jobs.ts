import type { TrainingJobMetadata } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import {
  ModelFramework,
  type ModelType,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { JobMetric } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import type { StatusLabel } from '../../ui/status-label.ts';
import { scoreText } from '@platform/contract/job/confidence';
import { kindOfModelType, modelKind, scoreName } from '@platform/contract/job/model-kinds';
import { mainShare } from './evaluations.ts';
import { formatCount } from '../../ui/quantities.ts';
import { msOf, span, spanOf } from '../../ui/times.ts';

const statusWords: Readonly<Record<number, StatusLabel>> = {
  [TrainingStatus.PENDING]: { tone: 'quiet', text: 'Queued' },
  [TrainingStatus.IN_PROGRESS]: { tone: 'busy', text: 'Running' },
  [TrainingStatus.COMPLETED]: { tone: 'good', text: 'Completed' },
  [TrainingStatus.FAILED]: { tone: 'bad', text: 'Failed' },
  [TrainingStatus.CANCELED]: { tone: 'quiet', text: 'Canceled' },
  [TrainingStatus.CANCELING]: { tone: 'warn', text: 'Canceling' },
};
const modelTypeText = (type: ModelType): string => modelKind(kindOfModelType(type))?.title ?? 'Custom script';

const frameworkWords: Readonly<Record<number, string>> = {
  [ModelFramework.TFLITE]: 'TFLite',
  [ModelFramework.TENSORFLOW]: 'TensorFlow',
  [ModelFramework.PYTORCH]: 'PyTorch',
  [ModelFramework.ONNX]: 'ONNX',
};

export interface JobView {
  id: string;
  /** It makes suggestions with this version, and trains nothing. */
  isPrediction: boolean;
  modelName: string;
  modelVersion: string;
  datasetId: string;
  labels: readonly string[];
  type: string;
  framework: string;
  status: StatusLabel;
  isActive: boolean;
  mayCancel: boolean;
  mayDelete: boolean;
  /** 0..1; 1 for a finished job. */
  progress: number;
  /** "training", empty while queued. */
  phase: string;
  eta: number | undefined;
  queuePosition: number;
  attempt: number;
  created: number | undefined;
  started: number | undefined;
  ended: number | undefined;
  /** "90.5 %" and its metric: accuracy, F1, mAP50. */
  score: { name: string; value: string } | undefined;
  /** Why a queued job does not start. */
  waitingFor: string;
  /** For a custom job: the script and its version. */
  script: { itemId: string; version: string } | undefined;
  /** Other known facts as text. */
  details: readonly (readonly [name: string, value: string])[];
  /** Package id `<organization>/<model>`, empty before the end. */
  modelId: string;
  failure: { what: string; cause: string } | undefined;
}

const active: readonly TrainingStatus[] = [
  TrainingStatus.PENDING,
  TrainingStatus.IN_PROGRESS,
  TrainingStatus.CANCELING,
];

/** Returns the job's own score or, if only the evaluation has one, that score. */
function scoreOf({ score, evaluation }: TrainingJobMetadata): JobView['score'] {
  const found = score ? { key: score.name, share: score.value, count: score.count } : mainShare(evaluation);
  return found && { name: scoreName(found.key), value: scoreText(found.key, found.share, found.count) };
}

function limitsText({ resources }: TrainingJobMetadata): string {
  if (!resources) return '';
  const { gpus, memoryMib, timeLimit } = resources;
  const parts = [
    gpus > 0 ? formatCount(gpus, 'GPU') : '',
    timeLimit ? span(Number(timeLimit.seconds) * 1000) : '',
    memoryMib > 0 ? `${memoryMib} MiB` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export function jobView(job: TrainingJobMetadata): JobView {
  const { status } = job;
  const isActive = active.includes(status);
  const isFailed = status === TrainingStatus.FAILED;
  return {
    id: job.id,
    isPrediction: job.kind === 'predict',
    modelName: job.modelName,
    modelVersion: job.modelVersion,
    datasetId: job.datasetId,
    labels: job.tags,
    type: job.isCustomJob ? 'Custom script' : job.kind === 'predict' ? 'Suggestions' : modelTypeText(job.modelType),
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
    score: scoreOf(job),
    waitingFor: isActive ? job.waitingFor : '',
    script: job.isCustomJob ? { itemId: job.registryItemId, version: job.registryItemVersion } : undefined,
    details: (
      [
        ['Environment', job.containerVersion],
        ['Limits', limitsText(job)],
        ['Runner', job.runnerId],
        ['Version of the data', job.datasetVersionId],
        [
          'Arguments',
          Object.entries(job.arguments)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, value]) => `${key}=${value}`)
            .join(' '),
        ],
      ] as const
    ).filter(([, value]) => value !== ''),
    modelId: job.syncedModelId,
    failure: isFailed
      ? { what: job.errorStatus?.message || 'The job failed without a reason.', cause: job.cause }
      : undefined,
  };
}

/** The filters of the list, by their values in the URL. */
export const statusFilters: Readonly<Record<string, { status: TrainingStatus; text: string }>> = {
  all: { status: TrainingStatus.UNSPECIFIED, text: 'All' },
  queued: { status: TrainingStatus.PENDING, text: 'Queued' },
  running: { status: TrainingStatus.IN_PROGRESS, text: 'Running' },
  completed: { status: TrainingStatus.COMPLETED, text: 'Completed' },
  failed: { status: TrainingStatus.FAILED, text: 'Failed' },
  canceled: { status: TrainingStatus.CANCELED, text: 'Canceled' },
};

/** The run time of a job, so far or in total. */
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

const isShare = (name: string): boolean => /accuracy|f1|map|precision|recall/.test(name);

/** Shares (0..1) and losses have different scales, so each gets a chart. */
export function chartsOf(points: readonly Record<string, unknown>[]): { shares: Series; losses: Series } {
  return {
    shares: seriesOf(points, isShare),
    losses: seriesOf(points, (name) => !isShare(name) && /loss|error/.test(name)),
  };
}

export const pointsOf = (metrics: readonly JobMetric[]): Record<string, unknown>[] =>
  metrics.toSorted((a, b) => (a.sequence < b.sequence ? -1 : 1)).map((metric) => metric.values ?? {});

/** Model names become file names. Returns undefined if the name is valid. */
export function modelNameProblem(name: string): string | undefined {
  if (name === '') return 'Give the model a name.';
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(name)) {
    return 'Use letters, digits, dashes and underscores, at most 128; the first a letter or digit.';
  }
  return undefined;
}
