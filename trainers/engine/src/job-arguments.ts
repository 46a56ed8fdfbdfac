/** Parses the training arguments of a job. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobSpec } from '@platform/contract/job/job';
import type { BuiltInKind } from '@platform/contract/job/model-kinds';
import { isTrainerSetting, type RecipeName, recipes, settingProblem } from '@platform/contract/job/trainer-settings';

export interface JobArguments {
  recipe?: RecipeName;
  epochs?: number;
  side?: number;
  /** Size of the largest model file, in megabytes (10^6 bytes). */
  maxModelMegabytes?: number | undefined;
}

/** Whether the probe is fine-tuned. */
export const isFineTuned = ({ recipe }: Pick<JobArguments, 'recipe'>): boolean => recipe !== 'probe';
/** Whether the second network is trained, too. */
export const hasSecondNetwork = ({ recipe }: Pick<JobArguments, 'recipe'>): boolean =>
  recipe === 'auto' || recipe === 'accurate';

/** @throws PlatformError INVALID_ARGUMENT. Lists unknown arguments in `unknown` and ignores them. */
export function parseJobArguments(
  job: Pick<JobSpec, 'arguments' | 'recipe'>,
  kind: BuiltInKind,
): { given: JobArguments; unknown: string[] } {
  const unknown: string[] = [];
  const given: JobArguments = {};
  const wanted = Object.entries(job.arguments);
  if (job.recipe !== undefined) wanted.push(['recipe', job.recipe]);
  for (const [key, value] of wanted) {
    if (!isTrainerSetting(key)) {
      unknown.push(key);
      continue;
    }
    const limit = settingProblem(key, value, kind);
    if (limit !== undefined) throw new PlatformError('INVALID_ARGUMENT', { field: `arguments.${key}`, value, limit });
    const recipe = recipes.find((one) => one === value);
    if (key === 'recipe') given.recipe = recipe ?? 'compact';
    else if (key === 'max_model_megabytes') given.maxModelMegabytes = Number(value);
    else given[key] = Number(value);
  }
  return { given, unknown };
}
