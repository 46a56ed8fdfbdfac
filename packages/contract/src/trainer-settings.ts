// Settings of the built-in classification trainer, as the arguments of a job give them. Checked when a job is submitted and
// again by the trainer.

import type { JobKind, MadeFramework } from './job.ts';

/**
 * What the built-in trainer of a model type makes; the first is what a job gets that names no framework. `tflite` stands here
 * once its packages hold the .tflite file, never before.
 */
export const madeFrameworks: Readonly<Record<Exclude<JobKind, 'custom'>, readonly MadeFramework[]>> = {
  single_label_classification: ['tflite', 'onnx'],
  multi_label_classification: ['tflite', 'onnx'],
  object_detection: ['tflite', 'onnx'],
};

/** probe: the linear head alone, within seconds. auto: the probe, then fine-tuning, and the better of the two. */
export const recipes = ['auto', 'probe'] as const;
export type RecipeName = (typeof recipes)[number];

export const trainerSettings = {
  recipe: { oneOf: recipes, limit: 'auto or probe is needed' },
  epochs: { min: 1, max: 200, multipleOf: 1, limit: 'a whole number from 1 to 200 is needed' },
  /** Pixels of the square that the network sees. */
  side: { min: 96, max: 320, multipleOf: 32, limit: 'pixels, a multiple of 32 from 96 to 320, are needed' },
} as const;
export type TrainerSetting = keyof typeof trainerSettings;

export const isTrainerSetting = (key: string): key is TrainerSetting => Object.hasOwn(trainerSettings, key);

/** What the value has to be instead; undefined: it is good. */
export function settingProblem(key: TrainerSetting, value: string): string | undefined {
  const setting = trainerSettings[key];
  if ('oneOf' in setting) return setting.oneOf.some((one) => one === value) ? undefined : setting.limit;
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  const isGood = number >= setting.min && number <= setting.max && number % setting.multipleOf === 0;
  return isGood ? undefined : setting.limit;
}
