/** What the arguments of a job may say, and the numbers of the recipe. */
import { PlatformError } from '@platform/contract/errors';
import type { JobSpec } from '@platform/contract/job';
import { isTrainerSetting, type RecipeName, settingProblem } from '@platform/contract/trainer-settings';

export interface Recipe {
  recipe: RecipeName;
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

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function recipeOf(job: Pick<JobSpec, 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const unknown: string[] = [];
  const recipe = { ...standard };
  const wanted = Object.entries(job.arguments);
  if (job.recipe !== undefined) wanted.push(['recipe', job.recipe]);
  for (const [key, value] of wanted) {
    if (!isTrainerSetting(key)) {
      unknown.push(key);
      continue;
    }
    const limit = settingProblem(key, value);
    if (limit !== undefined) throw new PlatformError('INVALID_ARGUMENT', { field: `arguments.${key}`, value, limit });
    if (key === 'recipe') recipe.recipe = value === 'probe' ? 'probe' : 'auto';
    else recipe[key] = Number(value);
  }
  return { recipe, unknown };
}
