/** What the arguments of a job may say, and the numbers of the recipe. */
import type { JobSpec } from '@platform/contract/job';
import type { RecipeName } from '@platform/contract/trainer-settings';
import { parseJobArguments } from '@platform/trainer-engine/job-arguments';

export interface Recipe {
  recipe: RecipeName;
  /** Undefined: by the number of images. */
  epochs: number | undefined;
  /** Pixels. */
  side: number;
  /** Images per step. */
  batch: number;
  /** Channels of the head's inner layer. */
  hidden: number;
  learningRate: number;
  warmUpSteps: number;
  /** Of the boxes' loss beside that of the heatmap. */
  overlapWeight: number;
  /** Share of the inner channels that a step does without when it says what is there. */
  dropout: number;
  /** Of the weights, times the learning rate: what few images say once is forgotten again. */
  decay: number;
  /** Epochs without a better validation before training stops. */
  patience: number;
  /** Steps of the probe. */
  probeSteps: number;
  /** Changed copies of each image whose features are kept, the image itself among them. */
  augmentations: number;
  /** Where the file cannot hold all copies: how many are made anew after each epoch, as a share of its steps' images. */
  renewedShare: number;
}

const standard: Recipe = {
  recipe: 'auto',
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
};

/** Images that all epochs together should see, about. */
const trainedImages = 4500;
const minEpochs = 12;
const maxEpochs = 50;

/** Pixels of the images that one run of the graph takes at most: the memory of a step, however large the images. */
const maxPixelsPerRun = 2 * 320 ** 2;
/** Images per run of the graph: a step of larger images is several runs, whose gradients are added up. */
export function rowsPerRun({ batch, side }: Pick<Recipe, 'batch' | 'side'>): number {
  let rows = batch;
  while (rows > 1 && (rows * side ** 2 > maxPixelsPerRun || batch % rows !== 0)) rows--;
  return rows;
}

export function epochsFor({ epochs }: Recipe, images: number): number {
  return epochs ?? Math.min(maxEpochs, Math.max(minEpochs, Math.round(trainedImages / Math.max(1, images))));
}

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function recipeOf(job: Pick<JobSpec, 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const { wishes, unknown } = parseJobArguments(job, 'object_detection');
  const recipe: Recipe = { ...standard, ...wishes };
  return { recipe, unknown };
}
