/** What the arguments of a job may say, and the numbers of the recipe. */
import { PlatformError } from '@platform/contract/errors';
import type { JobKind, JobSpec } from '@platform/contract/job';
import { isTrainerSetting, type RecipeName, settingProblem } from '@platform/contract/trainer-settings';
import type { Looks } from './augment.ts';
import type { Task } from './dataset.ts';

export interface Recipe {
  task: Task;
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
  /** Decay of the running mean of the weights, per step; 0: the weights themselves are judged and delivered. */
  averaging: number;
  /** Share of the views that get a piece of another picture. */
  mixing: number;
  /** Of the views that fine-tuning sees. */
  views: Looks;
  /** Changed copies of each picture that the probe sees beside the picture itself. */
  probeViews: number;
  probeLook: Looks;
  /** Most pictures and copies that the probe learns from: their features are kept in memory. */
  probeRows: number;
}

const mild: Looks = { area: 0.5, stretch: 0.2, colour: 0.25, turn: 0 };

const standard: Omit<Recipe, 'task'> = {
  recipe: 'auto',
  epochs: 12,
  side: 160,
  batch: 8,
  freezeUntil: 30,
  learningRate: 3e-4,
  warmUpSteps: 10,
  labelSmoothing: 0.1,
  patience: 4,
  averaging: 0,
  mixing: 0,
  views: mild,
  probeViews: 3,
  probeLook: mild,
  probeRows: 3000,
};

function taskOf(kind: JobKind): Task {
  if (kind === 'single_label_classification' || kind === 'multi_label_classification') return kind;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: kind, limit: 'this trainer makes classifiers' });
}

/** Throws INVALID_ARGUMENT. Unknown arguments are named in `unknown` and otherwise ignored. */
export function recipeOf(job: Pick<JobSpec, 'kind' | 'arguments' | 'recipe'>): { recipe: Recipe; unknown: string[] } {
  const unknown: string[] = [];
  const recipe: Recipe = { ...standard, task: taskOf(job.kind) };
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
