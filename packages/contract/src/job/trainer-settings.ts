// Settings of the built-in trainers in the arguments of a job. The server checks them on submit, the trainer again.

import { type BuiltInKind, modelKinds } from './model-kinds.ts';

/**
 * probe: the linear head only, within seconds. compact: the probe, then fine-tuning; delivers the better one. accurate:
 * uses a second pretrained network, too; classifiers deliver the mean of compact and of a probe on it, detectors rescore
 * the boxes of compact by it. auto: compact and accurate, delivers the better one.
 */
export const recipes = ['auto', 'compact', 'accurate', 'probe'] as const;
export type RecipeName = (typeof recipes)[number];

/** Size of the largest model file, in megabytes (10^6 bytes). */
const megabytes = { min: 1, max: 1000 };

const epochs = { min: 1, max: 200 };

export const trainerSettings = ['recipe', 'epochs', 'side', 'max_model_megabytes'] as const;
export type TrainerSetting = (typeof trainerSettings)[number];

export const isTrainerSetting = (key: string): key is TrainerSetting => trainerSettings.some((one) => one === key);

/** What the value must be; undefined if it is valid. */
export function settingProblem(key: TrainerSetting, value: string, kind: BuiltInKind): string | undefined {
  if (key === 'recipe') {
    return recipes.some((one) => one === value) ? undefined : `one of ${recipes.join(', ')} is needed`;
  }
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (key === 'epochs' || key === 'max_model_megabytes') {
    const { min, max } = key === 'epochs' ? epochs : megabytes;
    return number >= min && number <= max ? undefined : `a whole number from ${min} to ${max} is needed`;
  }
  const { min, max, multipleOf } = modelKinds[kind].side;
  return number >= min && number <= max && number % multipleOf === 0
    ? undefined
    : `pixels, a multiple of ${multipleOf} from ${min} to ${max}, are needed`;
}
