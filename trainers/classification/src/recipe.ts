/** Hyperparameters of a training, from the arguments of a job. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobKind, JobSpec } from '@platform/contract/job/job';
import type { RecipeName } from '@platform/contract/job/trainer-settings';
import { parseJobArguments } from '@platform/trainer-engine/job-arguments';
import type { AugmentationRanges } from './augment.ts';
import type { Task } from './dataset.ts';

export interface Recipe {
  task: Task;
  recipe: RecipeName;
  epochs: number;
  /** Width and height of the input in pixels. */
  side: number;
  /** Images per step. */
  batch: number;
  /** Convolutions before this number are frozen. */
  freezeUntil: number;
  learningRate: number;
  warmUpSteps: number;
  labelSmoothing: number;
  /** Epochs without an improvement before training stops. */
  patience: number;
  /** Decay of the weights' moving average per step; 0: evaluate and deliver the weights themselves. */
  averaging: number;
  /** Augmentations for fine-tuning. */
  augmentation: AugmentationRanges;
  /** Augmented copies of each image for the probe, in addition to the image. */
  probeCopies: number;
  probeAugmentation: AugmentationRanges;
  /** Maximum images and copies for the probe: memory holds their features. */
  probeRows: number;
  /** Maximum product of rows and labels for the probe: its time is proportional to this product. */
  probeWork: number;
  /** Size of the largest model file, in megabytes (10^6 bytes); undefined: no limit. */
  maxModelMegabytes: number | undefined;
}

const augmentations: AugmentationRanges = { area: 0.35, stretch: 0.3, colour: 0.35, turn: 20 };
/** A linear head on frozen features does not benefit from stronger augmentations. */
const mild: AugmentationRanges = { area: 0.5, stretch: 0.2, colour: 0.25, turn: 0 };

/** A crop with several labels must contain the object of each. */
const mostOfIt = 0.75;

const standard: Omit<Recipe, 'task' | 'side' | 'epochs'> = {
  recipe: 'compact',
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
  maxModelMegabytes: undefined,
};

function taskOf(kind: JobKind): Task {
  if (kind === 'single_label_classification' || kind === 'multi_label_classification') return kind;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: kind, limit: 'this trainer makes classifiers' });
}

/** The recipe arguments of a job; the size of the dataset determines the missing ones. */
export type RecipeArguments = Omit<Recipe, 'side' | 'epochs'> & {
  side: number | undefined;
  epochs: number | undefined;
};

/** @throws PlatformError INVALID_ARGUMENT. Lists unknown arguments in `unknown` and ignores them. */
export function parseRecipeArguments(job: Pick<JobSpec, 'kind' | 'arguments' | 'recipe'>): {
  requested: RecipeArguments;
  unknown: string[];
} {
  const task = taskOf(job.kind);
  const { given, unknown } = parseJobArguments(job, task);
  const requested: RecipeArguments = { ...standard, side: undefined, epochs: undefined, ...given, task };
  if (task === 'multi_label_classification') {
    requested.augmentation = { ...requested.augmentation, area: mostOfIt };
    requested.probeAugmentation = { ...requested.probeAugmentation, area: mostOfIt };
  }
  return { requested, unknown };
}

/** The properties of a dataset that determine the recipe. */
export interface DatasetScan {
  /** Number of training images. */
  images: number;
  /** Median of the shorter edges, in pixels. */
  edge: number;
}

/**
 * Candidates, the largest first; time grows with the square. One of several objects in an image is small, so
 * multi-label needs more pixels.
 */
const sides: Readonly<Record<Task, readonly number[]>> = {
  single_label_classification: [224, 160],
  multi_label_classification: [288, 224, 160],
};
const smallestSide = 160;
/** Maximum share of the image's shorter edge: random crops need margin, and upscaling adds no detail. */
const largestShare = 0.9;
/** Total training views of a small dataset over all epochs, and the maximum number of epochs. */
const small = { views: 1800, most: 20 };
/** Larger datasets: twelve epochs up to this number of views in total, but at least six. */
const large = { views: 24_000, most: 12, fewest: 6 };
/** Per view at 160 px, on two idle cores. */
const secondsPerView = 0.01;
/** Time limit of fine-tuning on that machine; beyond it the recipe reduces the resolution. */
const patienceSeconds = 500;
/** Share of the job's time limit: the rest is for other steps and for slower hosts. */
const shareOfLimit = 0.25;

const estimateSeconds = (views: number, side: number): number => views * secondsPerView * (side / 160) ** 2;

/** @param limitSeconds - time limit of the whole job. */
export function resolveRecipe(requested: RecipeArguments, { images, edge }: DatasetScan, limitSeconds: number): Recipe {
  const fill = (amount: number): number => Math.round(amount / Math.max(1, images));
  const fewest = Math.max(large.fewest, Math.min(large.most, fill(large.views)));
  const usual = Math.max(fewest, Math.min(small.most, fill(small.views)));
  const allowed = Math.min(patienceSeconds, limitSeconds * shareOfLimit);
  const epochs = requested.epochs ?? usual;
  const fitting = sides[requested.task].find(
    (one) => one <= edge * largestShare && estimateSeconds(epochs * images, one) <= allowed,
  );
  const side = requested.side ?? fitting ?? smallestSide;
  const affordable = Math.floor((limitSeconds * shareOfLimit) / estimateSeconds(images, side));
  return { ...requested, side, epochs: requested.epochs ?? Math.max(1, Math.min(usual, affordable)) };
}
