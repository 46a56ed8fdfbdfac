/** Writes what goes with the model files: labels, evaluation, the course of training, the model card. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { modelFiles } from '@platform/contract/job';
import { curvesPicture } from '@platform/trainer-engine/curves';
import type { ClassifierEvaluation } from './evaluation.ts';
import { modelCard, modelCardText } from './model-card.ts';
import type { Recipe } from './recipe.ts';
import type { Training } from '@platform/trainer-engine/training';

export async function writeReports(
  { job, outFolder }: Training,
  evaluation: ClassifierEvaluation,
  recipe: Recipe,
): Promise<void> {
  const card = modelCard(job, evaluation, recipe);
  const isSingle = evaluation.task === 'single_label_classification';
  const points = isSingle
    ? evaluation.curve.map(({ validation_accuracy: score, ...rest }) => ({ ...rest, score }))
    : evaluation.curve.map(({ validation_micro_f1: score, ...rest }) => ({ ...rest, score }));
  const files = {
    [modelFiles.labels]: `${evaluation.labels.join('\n')}\n`,
    [modelFiles.evaluation]: `${JSON.stringify(evaluation, undefined, 2)}\n`,
    [modelFiles.curves]: await curvesPicture(
      points.map(({ epoch, loss, validation_loss: validationLoss, score }) => ({ epoch, loss, validationLoss, score })),
      isSingle ? 'accuracy' : 'micro F1',
    ),
    [modelFiles.cardJson]: `${JSON.stringify(card, undefined, 2)}\n`,
    [modelFiles.cardText]: modelCardText(card, evaluation),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(outFolder, name), content);
}
