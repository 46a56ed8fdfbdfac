/** Writes the files beside the model: labels, evaluation, training curves, model card. */
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import { writeReports } from '@platform/trainer-engine/report';
import type { Training } from '@platform/trainer-engine/training';
import { modelCard, modelCardText } from './model-card.ts';
import type { Recipe } from './recipe.ts';

export async function writeModelReports(
  { job, outFolder }: Training,
  evaluation: DetectionEvaluation,
  recipe: Recipe,
  license: string,
): Promise<void> {
  const card = modelCard(job, evaluation, recipe, license);
  const points = evaluation.curve.map(({ epoch, loss, validation_loss: validationLoss, validation_map50: score }) => ({
    epoch,
    loss,
    validationLoss,
    score,
  }));
  await writeReports(outFolder, evaluation, { card, text: modelCardText(card, evaluation), points, score: 'mAP50' });
}
