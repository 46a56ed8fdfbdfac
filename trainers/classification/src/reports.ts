/** Writes the files beside the model: labels, evaluation, training curves, model card. */
import { crossValidationText } from '@platform/contract/job/cross-validation';
import { writeReports } from '@platform/trainer-engine/report';
import type { Training } from '@platform/trainer-engine/training';
import type { ClassifierEvaluation } from './evaluation.ts';
import { modelCard, modelCardText } from './model-card.ts';
import type { Recipe } from './recipe.ts';

/** A block of the card of its own. */
function crossValidationSection(evaluation: ClassifierEvaluation): string {
  const text = crossValidationText(evaluation);
  return text === undefined ? '' : `\n## Cross-validation\n${text}\n`;
}

export async function writeModelReports(
  { job, outFolder }: Training,
  evaluation: ClassifierEvaluation,
  recipe: Recipe,
  license: string,
): Promise<void> {
  const { cross_validation: crossValidation } = evaluation;
  const card = {
    ...modelCard(job, evaluation, recipe, license),
    ...(crossValidation && { cross_validation: crossValidation }),
  };
  const isSingle = evaluation.task === 'single_label_classification';
  const points = isSingle
    ? evaluation.curve.map(({ validation_accuracy: score, ...rest }) => ({ ...rest, score }))
    : evaluation.curve.map(({ validation_micro_f1: score, ...rest }) => ({ ...rest, score }));
  await writeReports(outFolder, evaluation, {
    card,
    text: `${modelCardText(card, evaluation)}${crossValidationSection(evaluation)}`,
    points: points.map(({ validation_loss: validationLoss, ...point }) => ({ ...point, validationLoss })),
    score: isSingle ? 'accuracy' : 'micro F1',
  });
}
