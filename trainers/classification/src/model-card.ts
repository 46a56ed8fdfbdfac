/** Builds model_card.json and model_card.md: description, usage and quality of the model. */
import type { MultiLabelScore, Score, UnlikeReport } from '@platform/contract/job/evaluation';
import { modelFiles } from '@platform/contract/job/job';
import type { JobSpec } from '@platform/contract/job/job';
import { classText, fewestForShare, type Interval, scoreText, wilson } from '@platform/contract/job/confidence';
import { intervalNote, table } from '@platform/trainer-engine/markdown';
import {
  fileTable,
  mainFile,
  preprocessingOf,
  trainingSection,
  useSection,
  warningLines,
} from '@platform/trainer-engine/report';
import { int8Section } from '@platform/trainer-engine/int8/card';
import { sampleProgram } from '@platform/trainer-engine/sample-program';
import type { ClassifierEvaluation } from './evaluation.ts';
import { networkSection } from '@platform/trainer-engine/network-section';
import type { Recipe } from './recipe.ts';
import { unlikeOutput } from '@platform/contract/job/model-output';

export interface ModelCard {
  name: string;
  version: string;
  task: ClassifierEvaluation['task'];
  labels: readonly string[];
  input: { name: string; type: string; shape: number[]; layout: string };
  output: { name: string; type: string; shape: number[]; meaning: string };
  /** The second output: how unlike the training images an image is; single-label classification only. */
  unlike?: UnlikeReport & { name: string; type: string; shape: number[] };
  /** Label → minimum probability of a predicted label; multi-label classification only. */
  thresholds?: Record<string, number>;
  files: ClassifierEvaluation['files'];
  /** The INT8 forms: their scores, and why one is left out. */
  int8?: ClassifierEvaluation['int8'];
  /** Recipes `auto` and `accurate` only: what the networks cost and how well they did. */
  networks?: ClassifierEvaluation['networks'];
  pretrained: { name: string; sha256: string; license: string };
  dataset: { dataset_id?: string; dataset_version_id?: string; images: ClassifierEvaluation['images'] };
  /** Preprocessing steps of an image. */
  preprocessing: string[];
  /** `interval_95`: the Wilson interval of the first score. */
  result: (Score | MultiLabelScore) & { evaluated_on: string; count: number; chosen: string; interval_95: Interval };
  per_class: ClassifierEvaluation['per_class'];
  /** Rows: true label, columns: predicted label. */
  confusion?: number[][];
  training: {
    seed: number;
    recipe: Pick<Recipe, 'recipe' | 'epochs' | 'side' | 'batch' | 'learningRate' | 'labelSmoothing'>;
    /** Epoch 0 is the linear probe. */
    epochs_run: number;
    seconds: ClassifierEvaluation['seconds'];
    device: ClassifierEvaluation['device'];
    machine: ClassifierEvaluation['machine'];
    versions: Record<string, string>;
    curves: string;
  };
  limits: string[];
}

export function modelCard(job: JobSpec, evaluation: ClassifierEvaluation, recipe: Recipe, license: string): ModelCard {
  const { labels, side, evaluated_on, count, chosen, images, pretrained } = evaluation;
  const isSingle = evaluation.task === 'single_label_classification';
  return {
    name: job.model_name,
    version: job.model_version,
    task: evaluation.task,
    labels,
    input: { name: 'image', type: 'uint8', shape: [1, side, side, 3], layout: 'NHWC, RGB, stretched to this size' },
    output: {
      name: 'probability',
      type: 'float32',
      shape: [1, labels.length],
      meaning: isSingle ? 'sums to 1: one of the labels is right' : 'of each label for itself',
    },
    ...('unlike' in evaluation && {
      unlike: { name: unlikeOutput, type: 'float32', shape: [1, 1], ...evaluation.unlike },
    }),
    ...(evaluation.task === 'multi_label_classification'
      ? { thresholds: Object.fromEntries(evaluation.per_class.map(({ label, threshold }) => [label, threshold])) }
      : {}),
    files: evaluation.files,
    ...(evaluation.int8 ? { int8: evaluation.int8 } : {}),
    ...(evaluation.networks ? { networks: evaluation.networks } : {}),
    pretrained: { ...pretrained, license },
    dataset: {
      ...(job.dataset_id === undefined ? {} : { dataset_id: job.dataset_id }),
      ...(job.dataset_version_id === undefined ? {} : { dataset_version_id: job.dataset_version_id }),
      images,
    },
    preprocessing: preprocessingOf(side),
    result: { evaluated_on, count, ...scoreIn(evaluation), chosen, interval_95: wilson(mainScore(evaluation), count) },
    per_class: evaluation.per_class,
    ...(evaluation.task === 'single_label_classification' ? { confusion: evaluation.confusion } : {}),
    training: {
      seed: evaluation.seed,
      recipe: {
        recipe: recipe.recipe,
        epochs: recipe.epochs,
        side: recipe.side,
        batch: recipe.batch,
        learningRate: recipe.learningRate,
        labelSmoothing: recipe.labelSmoothing,
      },
      epochs_run: evaluation.curve.length - 1,
      seconds: evaluation.seconds,
      device: evaluation.device,
      machine: evaluation.machine,
      versions: evaluation.versions,
      curves: modelFiles.curves,
    },
    limits: [
      isSingle
        ? 'It knows the labels above and gives one of them for every image, also for images of other things. The output `unlike` recognizes some of these images only.'
        : 'It knows the labels above alone; other things in an image are not named.',
      'The figures hold for images like those of the dataset.',
      ...(evaluated_on === 'validation' ? ['The images of the figures were also used to choose the weights.'] : []),
    ],
  };
}

const mainScore = (evaluation: ClassifierEvaluation): number =>
  evaluation.task === 'single_label_classification' ? evaluation.accuracy : evaluation.micro_f1;

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

const percentText = (share: number): string => `${(100 * share).toFixed(1)} %`;

function calibrationNote({ calibration }: ClassifierEvaluation): string[] {
  if (!calibration) return [];
  const { error, error_before, temperature, offsets, accuracy_before } = calibration;
  const [now, before] = [error, error_before].map(percentText);
  const by = offsets ? `temperature ${temperature} and the offsets of the labels` : `temperature ${temperature}`;
  return [
    '',
    `Probabilities are off by ${now} on average (expected calibration error on the held-out images; ${before} before the ${by}).`,
    ...(accuracy_before === undefined
      ? []
      : [`Without the offsets, accuracy would be ${percentText(accuracy_before)}.`]),
  ];
}

function unlikeNote({ unlike }: ModelCard): string[] {
  if (!unlike) return [];
  const { name, type, shape, threshold, chosen_on: on, chosen_above, chosen_count, above, count } = unlike;
  const chosen = `${chosen_above} of ${chosen_count} ${on === 'validation' ? 'validation' : 'training'} images`;
  return [
    `- Output \`${name}\`: ${type} [${shape.join(', ')}], how unlike the training images of every label the image is. An image above ${threshold} is unlike anything seen. Above it are ${chosen}, which chose it, and ${above} of ${count} held-out images, which show known labels.`,
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

export function modelCardText(card: ModelCard, evaluation: ClassifierEvaluation): string {
  const { dataset, training } = card;
  const { train, validation, test, skipped } = dataset.images;
  const kind = card.task === 'single_label_classification' ? 'Single-label' : 'Multi-label';
  const source = dataset.dataset_version_id === undefined ? '' : `Dataset version ${dataset.dataset_version_id}: `;
  return [
    `# ${card.name} ${card.version}`,
    '',
    `${kind} classifier of ${card.labels.length} labels, from ${card.pretrained.name} (${card.pretrained.license}).`,
    '',
    `**${summaryOf(evaluation)}** Mean F1 ${scoreText('macro_f1', card.result.macro_f1, card.result.count)}; the ${card.result.chosen} won.`,
    ...warningLines(evaluation),
    '',
    ...classTable(evaluation),
    '',
    intervalNote,
    ...calibrationNote(evaluation),
    ...confusionTable(evaluation),
    '',
    '## Use',
    `- Input \`image\`: uint8 [${card.input.shape.join(', ')}], ${card.input.layout}.`,
    `- Output \`probability\`: float32 [${card.output.shape.join(', ')}], in the order of labels.txt; ${card.output.meaning}.`,
    ...unlikeNote(card),
    ...useSection(
      card.preprocessing,
      sampleProgram({ file: mainFile(card.files), side: evaluation.side, task: card.task }),
    ),
    ...fileTable(evaluation),
    ...int8Section(evaluation.int8),
    ...networkSection(evaluation.networks),
    ...trainingSection(evaluation, {
      epochs: training.epochs_run,
      counts: `${source}${train} training, ${validation} validation, ${test} test images, ${skipped} skipped.`,
      limits: card.limits,
    }),
    '',
  ].join('\n');
}
