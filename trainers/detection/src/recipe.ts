/** What the arguments of a job may say, and the numbers of the recipe. */
import type { JobSpec } from '@platform/contract/job';
import type { RecipeName } from '@platform/contract/trainer-settings';
import { wishesOf } from '@platform/trainer-engine/job-arguments';

export interface Recipe {
  recipe: RecipeName;
  /** Undefined: by the number of pictures. */
  epochs: number | undefined;
  /** Pixels. */
  side: number;
  /** Pictures per step. */
  batch: number;
  /** Channels of the head's inner layer. */
  hidden: number;
  learningRate: number;
  warmUpSteps: number;
  /** Of the boxes' loss beside that of the heatmap. */
  overlapWeight: number;
  /** Share of the inner channels that a step does without when it says what is there. */
  dropped: number;
  /** Of the weights, times the learning rate: what few pictures say once is forgotten again. */
  decay: number;
  /** Epochs without a better validation before training stops. */
  patience: number;
  /** Steps of the probe. */
  probeSteps: number;
  /** Changed copies of each picture whose features are kept, the picture itself among them. */
  views: number;
  /** Where the file cannot hold all copies: how many are made anew after each epoch, as a share of its steps' pictures. */
  renewed: number;
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
  dropped: 0.3,
  decay: 0.5,
  patience: 12,
  probeSteps: 60,
  views: 6,
  renewed: 0.25,
};

/** Pictures that all epochs together should see, about. */
const lessons = 4500;
const fewestEpochs = 12;
const mostEpochs = 50;

/** Pixels of the pictures that one run of the graph takes at most: the memory of a step, however large the pictures. */
const pixelsOfRun = 2 * 320 ** 2;
/** Pictures per run of the graph: a step of larger pictures is several runs, whose gradients are added up. */
export function rowsOf({ batch, side }: Pick<Recipe, 'batch' | 'side'>): number {
  let rows = batch;
  while (rows > 1 && (rows * side ** 2 > pixelsOfRun || batch % rows !== 0)) rows--;
  return rows;
}

export function epochsFor({ epochs }: Recipe, pictures: number): number {
  return epochs ?? Math.min(mostEpochs, Math.max(fewestEpochs, Math.round(lessons / Math.max(1, pictures))));
}

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function recipeOf(job: Pick<JobSpec, 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const { wishes, unknown } = wishesOf(job, 'object_detection');
  const recipe: Recipe = { ...standard, ...wishes };
  return { recipe, unknown };
}
