/** Writes the model files and what goes with them: labels, evaluation, the course of training, the model card. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DetectionEvaluation } from '@platform/contract/evaluation';
import { modelFiles } from '@platform/contract/job';
import { curvesPicture } from '@platform/trainer-engine/curves';
import type { Training } from '@platform/trainer-engine/training';
import type { ModelOnDisk } from './evaluation.ts';
import { modelCard, modelCardText } from './model-card.ts';
import type { Recipe } from './recipe.ts';

export async function writeModel(folder: string, file: string, bytes: Uint8Array): Promise<ModelOnDisk> {
  await writeFile(path.join(folder, file), bytes);
  return { file, size_bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') };
}

export async function writeReports(
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
  const files = {
    [modelFiles.labels]: `${evaluation.labels.join('\n')}\n`,
    [modelFiles.evaluation]: `${JSON.stringify(evaluation, undefined, 2)}\n`,
    [modelFiles.curves]: await curvesPicture(points, 'mAP50'),
    [modelFiles.cardJson]: `${JSON.stringify(card, undefined, 2)}\n`,
    [modelFiles.cardText]: modelCardText(card, evaluation),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(outFolder, name), content);
}
