/** What the arguments of a job may say, and the numbers of the recipe. */
import { PlatformError } from '@platform/contract/errors';
import type { JobKind, JobSpec } from '@platform/contract/job';
import type { RecipeName } from '@platform/contract/trainer-settings';
import { parseJobArguments } from '@platform/trainer-engine/job-arguments';
import type { AugmentationRanges } from './augment.ts';
import type { Task } from './dataset.ts';

export interface Recipe {
  task: Task;
  recipe: RecipeName;
  epochs: number;
  /** Pixels. */
  side: number;
  /** Images per step. */
  batch: number;
  /** Convolutions before this number stay as they are. */
  freezeUntil: number;
  learningRate: number;
  warmUpSteps: number;
  labelSmoothing: number;
  /** Epochs without a better validation before training stops. */
  patience: number;
  /** Decay of the running mean of the weights, per step; 0: the weights themselves are evaluated and delivered. */
  averaging: number;
  /** Of the views that fine-tuning sees. */
  augmentation: AugmentationRanges;
  /** Changed copies of each image that the probe sees beside the image itself. */
  probeCopies: number;
  probeAugmentation: AugmentationRanges;
  /** Most images and copies that the probe learns from: their features are kept in memory. */
  probeRows: number;
  /** Most images and copies, times labels: the time that the probe takes grows with it. */
  probeWork: number;
}

const augmentations: AugmentationRanges = { area: 0.35, stretch: 0.3, colour: 0.35, turn: 20 };
/** A linear head on frozen features has nothing to learn from stranger views. */
const mild: AugmentationRanges = { area: 0.5, stretch: 0.2, colour: 0.25, turn: 0 };

/** A view that is to teach several labels has to hold what each of them names. */
const mostOfIt = 0.75;

const standard: Omit<Recipe, 'task' | 'side' | 'epochs'> = {
  recipe: 'auto',
  batch: 8,
  freezeUntil: 24,
  learningRate: 3e-4,
  warmUpSteps: 10,
  labelSmoothing: 0.1,
  patience: 6,
  averaging: 0.98,
  augmentation: augmentations,
  probeCopies: 3,
  probeAugmentation: mild,
  probeRows: 3000,
  probeWork: 30_000,
};

function taskOf(kind: JobKind): Task {
  if (kind === 'single_label_classification' || kind === 'multi_label_classification') return kind;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: kind, limit: 'this trainer makes classifiers' });
}

/** What a job says of its recipe; what it leaves open is chosen once its images are known. */
export type RecipeArguments = Omit<Recipe, 'side' | 'epochs'> & {
  side: number | undefined;
  epochs: number | undefined;
};

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function parseRecipeArguments(job: Pick<JobSpec, 'kind' | 'arguments' | 'recipe'>): {
  wish: RecipeArguments;
  unknown: string[];
} {
  const task = taskOf(job.kind);
  const { wishes, unknown } = parseJobArguments(job, task);
  const wish: RecipeArguments = { ...standard, side: undefined, epochs: undefined, ...wishes, task };
  if (task === 'multi_label_classification') {
    wish.augmentation = { ...wish.augmentation, area: mostOfIt };
    wish.probeAugmentation = { ...wish.probeAugmentation, area: mostOfIt };
  }
  return { wish, unknown };
}

/** Of the images of a dataset, what the choice depends on. */
export interface DatasetScan {
  /** Training images. */
  images: number;
  /** Pixels of the shorter edge of the image in the middle. */
  edge: number;
}

/** From the largest on. Pixels cost time by their square. What is one of several things in an image is small in it. */
const sides: Readonly<Record<Task, readonly number[]>> = {
  single_label_classification: [224, 160],
  multi_label_classification: [288, 224, 160],
};
const smallestSide = 160;
/** Of an image's edge: views are cut out of it, and what is enlarged shows no more. */
const largestShare = 0.9;
/** Views that a small dataset is seen in, all epochs together, and the most epochs. */
const small = { views: 1800, most: 20 };
/** Larger datasets: twelve epochs while they stay within so many views, and never fewer than six. */
const large = { views: 24_000, most: 12, fewest: 6 };
/** Of one view at 160 px, on two cores that have nothing else to do. */
const secondsPerView = 0.01;
/** What fine-tuning may take there before fewer pixels are looked at. */
const patienceSeconds = 500;
/** Of the time that a job may take, most is left to what else it does, and to slower computers. */
const shareOfLimit = 0.25;

const estimateSeconds = (views: number, side: number): number => views * secondsPerView * (side / 160) ** 2;

/** @param limitSeconds - of the whole job. */
export function resolveRecipe(wish: RecipeArguments, { images, edge }: DatasetScan, limitSeconds: number): Recipe {
  const fill = (amount: number): number => Math.round(amount / Math.max(1, images));
  const fewest = Math.max(large.fewest, Math.min(large.most, fill(large.views)));
  const usual = Math.max(fewest, Math.min(small.most, fill(small.views)));
  const allowed = Math.min(patienceSeconds, limitSeconds * shareOfLimit);
  const epochs = wish.epochs ?? usual;
  const fitting = sides[wish.task].find(
    (one) => one <= edge * largestShare && estimateSeconds(epochs * images, one) <= allowed,
  );
  const side = wish.side ?? fitting ?? smallestSide;
  const affordable = Math.floor((limitSeconds * shareOfLimit) / estimateSeconds(images, side));
  return { ...wish, side, epochs: wish.epochs ?? Math.max(1, Math.min(usual, affordable)) };
}
