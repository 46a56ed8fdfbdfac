/** Hyperparameters of a training, from the arguments of a job. */
import type { JobSpec } from '@platform/contract/job/job';
import type { RecipeName } from '@platform/contract/job/trainer-settings';
import { parseJobArguments } from '@platform/trainer-engine/job-arguments';

export interface Recipe {
  recipe: RecipeName;
  /** Undefined: derived from the number of images. */
  epochs: number | undefined;
  /** Width and height of the input in pixels. */
  side: number;
  /** Images per step. */
  batch: number;
  /** Channels of the head's hidden layer. */
  hidden: number;
  learningRate: number;
  warmUpSteps: number;
  /** Weight of the box loss relative to the heatmap loss. */
  overlapWeight: number;
  /** Dropout rate of the hidden channels of the heatmap branch. */
  dropout: number;
  /** Weight decay, times the learning rate: limits overfitting to few images. */
  decay: number;
  /** Epochs without an improvement before training stops. */
  patience: number;
  /** Number of training steps of the probe. */
  probeSteps: number;
  /** Views of each image whose features are stored, including the image itself. */
  augmentations: number;
  /** If the file cannot hold all views: views replaced after each epoch, as a share of the epoch's images. */
  renewedShare: number;
  /** Size of the largest model file, in megabytes (10^6 bytes); undefined: no limit. */
  maxModelMegabytes: number | undefined;
}

const standard: Recipe = {
  recipe: 'compact',
  epochs: undefined,
  side: 448,
  batch: 4,
  hidden: 64,
  learningRate: 4e-3,
  warmUpSteps: 10,
  overlapWeight: 1,
  dropout: 0.3,
  decay: 0.5,
  patience: 12,
  probeSteps: 60,
  augmentations: 6,
  renewedShare: 0.25,
  maxModelMegabytes: undefined,
};

/** Approximate number of training views over all epochs. */
const trainedImages = 4500;
const minEpochs = 12;
const maxEpochs = 50;

/** Maximum pixels per run of the graph: limits the memory of a step for any image size. */
const maxPixelsPerRun = 2 * 320 ** 2;
/** Images per run of the graph: a step with larger images accumulates the gradients of several runs. */
export function rowsPerRun({ batch, side }: Pick<Recipe, 'batch' | 'side'>): number {
  let rows = batch;
  while (rows > 1 && (rows * side ** 2 > maxPixelsPerRun || batch % rows !== 0)) rows--;
  return rows;
}

export function epochsFor({ epochs }: Recipe, images: number): number {
  return epochs ?? Math.min(maxEpochs, Math.max(minEpochs, Math.round(trainedImages / Math.max(1, images))));
}

/** @throws PlatformError INVALID_ARGUMENT. Lists unknown arguments in `unknown` and ignores them. */
export function recipeOf(job: Pick<JobSpec, 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const { given, unknown } = parseJobArguments(job, 'object_detection');
  const recipe: Recipe = { ...standard, ...given };
  return { recipe, unknown };
}
