/** What the arguments of a job may say, and the numbers of the recipe. */
import { PlatformError } from '@platform/contract/errors';
import type { JobSpec } from '@platform/contract/job';

export interface Recipe {
  /** probe: the linear head alone. auto: probe, then fine-tuning, and the better of the two. */
  recipe: 'auto' | 'probe';
  epochs: number;
  /** Pixels. */
  side: number;
  /** Pictures per step. */
  batch: number;
  /** Convolutions before this number stay as they are. */
  freezeUntil: number;
  learningRate: number;
  warmUpSteps: number;
  labelSmoothing: number;
  /** Epochs without a better validation before training stops. */
  patience: number;
  /** Changed copies of each picture that the probe sees beside the picture itself. */
  probeViews: number;
}

export const limits = { epochs: { min: 1, max: 200 }, side: { min: 96, max: 320, multipleOf: 32 } } as const;

const standard: Recipe = {
  recipe: 'auto',
  epochs: 12,
  side: 160,
  batch: 8,
  freezeUntil: 30,
  learningRate: 3e-4,
  warmUpSteps: 10,
  labelSmoothing: 0.1,
  patience: 4,
  probeViews: 3,
};

function wholeNumber(
  field: string,
  value: string,
  { min, max, multipleOf = 1 }: { min: number; max: number; multipleOf?: number },
): number {
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max && number % multipleOf === 0)) {
    const step = multipleOf === 1 ? '' : ` in steps of ${multipleOf}`;
    const limit = `a whole number from ${min} to ${max}${step} is needed`;
    throw new PlatformError('INVALID_ARGUMENT', { field: `arguments.${field}`, value, limit });
  }
  return number;
}

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function recipeOf(job: Pick<JobSpec, 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const unknown: string[] = [];
  const recipe = { ...standard };
  const wanted = Object.entries(job.arguments);
  if (job.recipe !== undefined) wanted.push(['recipe', job.recipe]);
  for (const [key, value] of wanted) {
    if (key === 'epochs') recipe.epochs = wholeNumber(key, value, limits.epochs);
    else if (key === 'side') recipe.side = wholeNumber(key, value, limits.side);
    else if (key !== 'recipe') unknown.push(key);
    else if (value === 'auto' || value === 'probe') recipe.recipe = value;
    else {
      throw new PlatformError('INVALID_ARGUMENT', {
        field: 'arguments.recipe',
        value,
        limit: 'auto or probe is needed',
      });
    }
  }
  return { recipe, unknown };
}
