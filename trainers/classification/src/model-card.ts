/** Writes the files beside the model: labels, evaluation, training curves, model card. */
import type { MultiLabelScore, Score } from '@platform/contract/job/evaluation';
import { classText, fewestForShare, scoreText } from '@platform/contract/job/confidence';
import { crossValidationText } from '@platform/contract/job/cross-validation';
import { unlikeOutput } from '@platform/contract/job/model-output';
import { intervalNote, percent, table } from '@platform/trainer-engine/markdown';
import { modelCardOf, modelCardText } from '@platform/trainer-engine/model-card';
import { writeReports } from '@platform/trainer-engine/report';
import type { Training } from '@platform/trainer-engine/training';
import type { ClassifierEvaluation } from './evaluation.ts';
import type { Recipe } from './recipe.ts';

export async function writeModelReports(
  { job, outFolder }: Training,
  evaluation: ClassifierEvaluation,
  { recipe, epochs, side, batch, learningRate, labelSmoothing }: Recipe,
  license: string,
): Promise<void> {
  const { labels, cross_validation: crossValidation } = evaluation;
  const isSingle = evaluation.task === 'single_label_classification';
  const { input, output } = portsOf(side, labels.length, isSingle);
  const common = modelCardOf(job, evaluation, {
    license,
    ports: {
      input,
      output,
      /** How unlike the training images an image is. */
      ...('unlike' in evaluation && {
        unlike: { name: unlikeOutput, type: 'float32', shape: [1, 1], ...evaluation.unlike },
      }),
      /** Label → minimum probability of a predicted label. */
      ...(!isSingle && {
        thresholds: Object.fromEntries(evaluation.per_class.map(({ label, threshold }) => [label, threshold])),
      }),
    },
    scores: scoreIn(evaluation),
    mainScore: isSingle ? evaluation.accuracy : evaluation.micro_f1,
    confusion: isSingle ? evaluation.confusion : undefined,
    recipe: { recipe, epochs, side, batch, learningRate, labelSmoothing },
    limit: isSingle
      ? 'It knows the labels above and gives one of them for every image, also for images of other things. The output `unlike` recognizes some of these images only.'
      : 'It knows the labels above alone; other things in an image are not named.',
  });
  const { train, validation, test, skipped } = evaluation.images;
  const crossValidated = crossValidationText(evaluation);
  const text = modelCardText(common, evaluation, {
    kind: `${isSingle ? 'Single' : 'Multi'}-label classifier`,
    summary: summaryOf(evaluation),
    scores: `Mean F1 ${scoreText('macro_f1', evaluation.macro_f1, evaluation.count)}`,
    tables: [
      ...classTable(evaluation),
      '',
      intervalNote,
      ...calibrationNote(evaluation),
      ...confusionTable(evaluation),
    ],
    ports: [
      `- Input \`image\`: uint8 [${input.shape.join(', ')}], ${input.layout}.`,
      `- Output \`probability\`: float32 [${output.shape.join(', ')}], in the order of labels.txt; ${output.meaning}.`,
      ...unlikeNote(evaluation),
    ],
    counts: `${train} training, ${validation} validation, ${test} test images, ${skipped} skipped.`,
    last: crossValidated === undefined ? [] : ['', '## Cross-validation', crossValidated],
  });
  await writeReports(outFolder, evaluation, {
    card: { ...common, ...(crossValidation && { cross_validation: crossValidation }) },
    text,
    points: pointsOf(evaluation).map(({ validation_loss: validationLoss, ...point }) => ({ ...point, validationLoss })),
    score: isSingle ? 'accuracy' : 'micro F1',
  });
}

const pointsOf = (evaluation: ClassifierEvaluation) =>
  evaluation.task === 'single_label_classification'
    ? evaluation.curve.map(({ validation_accuracy: score, ...rest }) => ({ ...rest, score }))
    : evaluation.curve.map(({ validation_micro_f1: score, ...rest }) => ({ ...rest, score }));

function portsOf(side: number, labels: number, isSingle: boolean) {
  const input = {
    name: 'image',
    type: 'uint8',
    shape: [1, side, side, 3],
    layout: 'NHWC, RGB, stretched to this size',
  };
  const output = {
    name: 'probability',
    type: 'float32',
    shape: [1, labels],
    meaning: isSingle ? 'sums to 1: one of the labels is right' : 'of each label for itself',
  };
  return { input, output };
}

function scoreIn(evaluation: ClassifierEvaluation): Score | MultiLabelScore {
  if (evaluation.task === 'single_label_classification') {
    return { accuracy: evaluation.accuracy, macro_f1: evaluation.macro_f1 };
  }
  const { micro_f1, macro_f1, exact_match, mean_average_precision } = evaluation;
  return { micro_f1, macro_f1, exact_match, mean_average_precision };
}

/** One sentence about the model's quality. */
export function summaryOf(evaluation: ClassifierEvaluation): string {
  const { count, evaluated_on: on } = evaluation;
  const images = `${count} held-out images (${on})`;
  if (evaluation.task === 'single_label_classification') {
    const { accuracy } = evaluation;
    const right = scoreText('accuracy', accuracy, count);
    return count < fewestForShare ? `${right} held-out images (${on}) are right.` : `${right} of ${images} are right.`;
  }
  const { micro_f1, exact_match } = evaluation;
  const whole = scoreText('exact_match', exact_match, count);
  return `Micro F1 ${scoreText('micro_f1', micro_f1, count)} on ${images}; all labels are right on ${whole} of them.`;
}

function classTable(evaluation: ClassifierEvaluation): string[] {
  const head = ['label', 'precision', 'recall', 'F1', 'held-out images'];
  if (evaluation.task === 'single_label_classification') {
    return table(
      head,
      evaluation.per_class.map((one) => [
        one.label,
        classText(one, 'precision'),
        classText(one, 'recall'),
        classText(one, 'f1'),
        one.support,
      ]),
    );
  }
  return table(
    [...head, 'average precision', 'counts as there from'],
    evaluation.per_class.map((one) => [
      one.label,
      classText(one, 'precision'),
      classText(one, 'recall'),
      classText(one, 'f1'),
      one.support,
      classText(one, 'average_precision'),
      one.threshold,
    ]),
  );
}

function calibrationNote({ calibration }: ClassifierEvaluation): string[] {
  if (!calibration) return [];
  const { error, error_before, temperature, offsets, accuracy_before } = calibration;
  const [now, before] = [error, error_before].map(percent);
  const by = offsets ? `temperature ${temperature} and the offsets of the labels` : `temperature ${temperature}`;
  return [
    '',
    `Probabilities are off by ${now} on average (expected calibration error on the held-out images; ${before} before the ${by}).`,
    ...(accuracy_before === undefined ? [] : [`Without the offsets, accuracy would be ${percent(accuracy_before)}.`]),
  ];
}

function unlikeNote(evaluation: ClassifierEvaluation): string[] {
  if (!('unlike' in evaluation) || !evaluation.unlike) return [];
  const { threshold, chosen_on: on, chosen_above, chosen_count, above, count } = evaluation.unlike;
  const chosen = `${chosen_above} of ${chosen_count} ${on === 'validation' ? 'validation' : 'training'} images`;
  return [
    `- Output \`${unlikeOutput}\`: float32 [1, 1], how unlike the training images of every label the image is. An image above ${threshold} is unlike anything seen. Above it are ${chosen}, which chose it, and ${above} of ${count} held-out images, which show known labels.`,
  ];
}

/** Wider tables appear in evaluation.json only. */
const maxColumns = 16;

function confusionTable(evaluation: ClassifierEvaluation): string[] {
  if (evaluation.task !== 'single_label_classification' || evaluation.labels.length > maxColumns) return [];
  const { labels, confusion } = evaluation;
  const rows = confusion.map((counts, k) => [labels[k] ?? '', ...counts.map((count) => (count === 0 ? '' : count))]);
  return ['', '## Confusion', 'Rows: the true label. Columns: the predicted one.', '', ...table(['', ...labels], rows)];
}
