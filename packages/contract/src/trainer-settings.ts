// Settings of the built-in trainers, as the arguments of a job give them. Checked when a job is submitted and
// again by the trainer.

import type { JobKind, MadeFramework } from './job.ts';

export type BuiltInKind = Exclude<JobKind, 'custom'>;

/**
 * What the built-in trainer of a model type makes; the first is what a job gets that names no framework. `tflite` stands here
 * once its packages hold the .tflite file, never before.
 */
export const madeFrameworks: Readonly<Record<BuiltInKind, readonly MadeFramework[]>> = {
  single_label_classification: ['tflite', 'onnx'],
  multi_label_classification: ['tflite', 'onnx'],
  object_detection: ['tflite', 'onnx'],
};

/** probe: the linear head alone, within seconds. auto: the probe, then fine-tuning, and the better of the two. */
export const recipes = ['auto', 'probe'] as const;
export type RecipeName = (typeof recipes)[number];

/** Pixels of the square that the network sees, at most. */
const mostSide: Readonly<Record<BuiltInKind, number>> = {
  single_label_classification: 320,
  multi_label_classification: 320,
  object_detection: 512,
};

export const trainerSettings = {
  recipe: { oneOf: recipes },
  epochs: { min: 1, max: 200, multipleOf: 1 },
  side: { min: 96, max: mostSide, multipleOf: 32 },
} as const;
export type TrainerSetting = keyof typeof trainerSettings;

export const isTrainerSetting = (key: string): key is TrainerSetting => Object.hasOwn(trainerSettings, key);

/** What the value has to be instead; undefined: it is good. */
export function settingProblem(key: TrainerSetting, value: string, kind: BuiltInKind): string | undefined {
  const setting = trainerSettings[key];
  if ('oneOf' in setting) {
    return setting.oneOf.some((one) => one === value) ? undefined : 'auto or probe is needed';
  }
  const { min, multipleOf } = setting;
  const max = typeof setting.max === 'number' ? setting.max : setting.max[kind];
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max && number % multipleOf === 0) return undefined;
  return key === 'side'
    ? `pixels, a multiple of ${multipleOf} from ${min} to ${max}, are needed`
    : `a whole number from ${min} to ${max} is needed`;
}
