// Settings of the built-in trainers in the arguments of a job. The server checks them on submit, the trainer again.

import { type BuiltInKind, modelKinds } from './model-kinds.ts';

/** probe: the linear head only, within seconds. auto: the probe, then fine-tuning; delivers the better one. */
export const recipes = ['auto', 'probe'] as const;
export type RecipeName = (typeof recipes)[number];

const epochs = { min: 1, max: 200 };

export const trainerSettings = ['recipe', 'epochs', 'side'] as const;
export type TrainerSetting = (typeof trainerSettings)[number];

export const isTrainerSetting = (key: string): key is TrainerSetting => trainerSettings.some((one) => one === key);

/** What the value must be; undefined if it is valid. */
export function settingProblem(key: TrainerSetting, value: string, kind: BuiltInKind): string | undefined {
  if (key === 'recipe') return recipes.some((one) => one === value) ? undefined : 'auto or probe is needed';
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (key === 'epochs') {
    const { min, max } = epochs;
    return number >= min && number <= max ? undefined : `a whole number from ${min} to ${max} is needed`;
  }
  const { min, max, multipleOf } = modelKinds[kind].side;
  return number >= min && number <= max && number % multipleOf === 0
    ? undefined
    : `pixels, a multiple of ${multipleOf} from ${min} to ${max}, are needed`;
}
