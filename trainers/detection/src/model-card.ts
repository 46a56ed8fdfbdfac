/** Writes the files beside the model: labels, evaluation, training curves, model card. */
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import { classText, scoreText } from '@platform/contract/job/confidence';
import { intervalNote, percent, section, table } from '@platform/trainer-engine/markdown';
import { modelCardOf, modelCardText } from '@platform/trainer-engine/model-card';
import { writeReports } from '@platform/trainer-engine/report';
import type { Training } from '@platform/trainer-engine/training';
import { boxCount } from './export.ts';
import type { Recipe } from './recipe.ts';

export async function writeModelReports(
  { job, outFolder }: Training,
  evaluation: DetectionEvaluation,
  recipe: Recipe,
  license: string,
): Promise<void> {
  const { labels, side, images, boxes, per_class, map50, map75, map } = evaluation;
  const { input, outputs } = portsOf(side, labels.length);
  const card = modelCardOf(job, evaluation, {
    license,
    ports: {
      input,
      outputs,
      /** Label → minimum score of a detection. */
      thresholds: Object.fromEntries(per_class.map(({ label, threshold }) => [label, threshold])),
    },
    counts: { boxes },
    scores: { map50, map75, map },
    // As if each image were right or wrong.
    mainScore: map50,
    recipe: {
      recipe: recipe.recipe,
      side: recipe.side,
      batch: recipe.batch,
      hidden: recipe.hidden,
      learningRate: recipe.learningRate,
      views: recipe.augmentations,
    },
    limit: 'It finds things of the labels above alone, and is blind to things smaller than about 3 % of the image.',
  });
  const text = modelCardText(card, evaluation, {
    kind: 'Object detector',
    summary: summaryOf(evaluation),
    scores: `mAP50:95 ${percent(map)}`,
    tables: scoreTables(evaluation),
    ports: [
      `- Input \`${input.name}\`: ${input.type} [${input.shape.join(', ')}], ${input.meaning}.`,
      ...outputs.map(
        ({ name, type, shape, meaning }) => `- Output \`${name}\`: ${type} [${shape.join(', ')}], ${meaning}.`,
      ),
    ],
    counts: `${images.train} training, ${images.validation} validation, ${images.test} test images with ${boxes.train}, ${boxes.validation} and ${boxes.test} boxes; ${images.skipped} skipped.`,
    last: worstSection(evaluation),
  });
  const points = evaluation.curve.map(({ epoch, loss, validation_loss: validationLoss, validation_map50: score }) => ({
    epoch,
    loss,
    validationLoss,
    score,
  }));
  await writeReports(outFolder, evaluation, { card, text, points, score: 'mAP50' });
}

function portsOf(side: number, labels: number) {
  const found = boxCount(side, labels);
  const input = {
    name: 'image',
    type: 'uint8',
    shape: [1, side, side, 3],
    meaning: 'NHWC, RGB, stretched to this size',
  };
  const output = (name: string, meaning: string, ...values: number[]) => ({
    name,
    type: 'float32',
    shape: [1, found, ...values],
    meaning,
  });
  const outputs = [
    output('location', 'xmin, ymin, xmax, ymax, 0 to 1', 4),
    output('category', 'line of labels.txt, counted from 0'),
    output('score', '0 to 1; 0 where a surer box of the label covers it'),
  ];
  return { input, outputs };
}

/** One sentence about the model's quality. */
export function summaryOf({ map50, map75, count, evaluated_on: on }: DetectionEvaluation): string {
  const [at50, at75] = [scoreText('map50', map50, count), scoreText('map75', map75, count)];
  return `mAP50 ${at50}, mAP75 ${at75} on ${count} held-out images (${on}).`;
}

function scoreTables({ per_class, probe, fine_tuned }: DetectionEvaluation): string[] {
  const perLabel = per_class.map((one) => [
    one.label,
    classText(one, 'ap50'),
    classText(one, 'ap75'),
    classText(one, 'precision'),
    classText(one, 'recall'),
    classText(one, 'f1'),
    one.support,
    one.threshold,
  ]);
  const stages = [
    { name: 'probe', score: probe },
    { name: 'longer training', score: fine_tuned },
  ].flatMap(({ name, score }) =>
    score ? [[name, percent(score.map50), percent(score.map75), percent(score.map)]] : [],
  );
  return [
    ...table(['label', 'AP50', 'AP75', 'precision', 'recall', 'F1', 'held-out boxes', 'counts from'], perLabel),
    '',
    'Precision, recall and F1 at the score in the last column and an overlap (IoU) of 0.5.',
    intervalNote,
    '',
    ...table(['stage', 'mAP50', 'mAP75', 'mAP50:95'], stages),
  ];
}

function worstSection({ worst }: DetectionEvaluation): string[] {
  const listed = (texts: readonly string[]): string => (texts.length === 0 ? '' : ` (${texts.join(', ')})`);
  return section(
    'Images that went most wrong',
    worst.map(({ file_name, image_path, missed, wrong }) => {
      const labels = listed(missed.map(({ label }) => label));
      const scored = listed(wrong.map(({ label, score }) => `${label} ${score.toFixed(2)}`));
      return `${file_name || image_path}: ${missed.length} missed${labels}, ${wrong.length} wrong${scored}`;
    }),
  );
}
