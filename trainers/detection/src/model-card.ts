/** Builds model_card.json and model_card.md: description, usage and quality of the model. */
import type { DetectionEvaluation, DetectionScore } from '@platform/contract/job/evaluation';
import { modelFiles } from '@platform/contract/job/job';
import type { JobSpec } from '@platform/contract/job/job';
import { classText, type Interval, scoreText, wilson } from '@platform/contract/job/confidence';
import { intervalNote, percent, section, table } from '@platform/trainer-engine/markdown';
import { networkSection } from '@platform/trainer-engine/network-section';
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
import { boxCount } from './export.ts';
import type { Recipe } from './recipe.ts';

interface Port {
  name: string;
  type: string;
  shape: number[];
  meaning: string;
}
export interface ModelCard {
  name: string;
  version: string;
  task: DetectionEvaluation['task'];
  labels: readonly string[];
  input: Port;
  outputs: Port[];
  /** Label → minimum score of a detection. */
  thresholds: Record<string, number>;
  files: DetectionEvaluation['files'];
  /** The INT8 forms: their scores, and why one is left out. */
  int8?: DetectionEvaluation['int8'];
  pretrained: { name: string; sha256: string; license: string };
  /** Recipes `auto` and `accurate` only: what the networks cost and how well they did. */
  networks?: DetectionEvaluation['networks'];
  dataset: {
    dataset_id?: string;
    dataset_version_id?: string;
    images: DetectionEvaluation['images'];
    boxes: DetectionEvaluation['boxes'];
  };
  /** Preprocessing steps of an image. */
  preprocessing: string[];
  /** `interval_95`: the Wilson interval for mAP50, as if each image were right or wrong. */
  result: DetectionScore & { evaluated_on: string; count: number; chosen: string; interval_95: Interval };
  per_class: DetectionEvaluation['per_class'];
  training: {
    seed: number;
    recipe: Pick<Recipe, 'recipe' | 'side' | 'batch' | 'hidden' | 'learningRate'> & { views: number };
    /** Epoch 0 is the probe. */
    epochs_run: number;
    seconds: DetectionEvaluation['seconds'];
    device: DetectionEvaluation['device'];
    machine: DetectionEvaluation['machine'];
    versions: Record<string, string>;
    curves: string;
  };
  limits: string[];
}

export function modelCard(job: JobSpec, evaluation: DetectionEvaluation, recipe: Recipe, license: string): ModelCard {
  const { labels, side, evaluated_on, count, chosen, images, boxes, pretrained, per_class } = evaluation;
  const { map50, map75, map } = evaluation;
  const found = boxCount(side, labels.length);
  return {
    name: job.model_name,
    version: job.model_version,
    task: evaluation.task,
    labels,
    input: { name: 'image', type: 'uint8', shape: [1, side, side, 3], meaning: 'NHWC, RGB, stretched to this size' },
    outputs: [
      { name: 'location', type: 'float32', shape: [1, found, 4], meaning: 'xmin, ymin, xmax, ymax, 0 to 1' },
      { name: 'category', type: 'float32', shape: [1, found], meaning: 'line of labels.txt, counted from 0' },
      {
        name: 'score',
        type: 'float32',
        shape: [1, found],
        meaning: '0 to 1; 0 where a surer box of the label covers it',
      },
    ],
    thresholds: Object.fromEntries(per_class.map(({ label, threshold }) => [label, threshold])),
    files: evaluation.files,
    ...(evaluation.int8 ? { int8: evaluation.int8 } : {}),
    pretrained: { ...pretrained, license },
    ...(evaluation.networks ? { networks: evaluation.networks } : {}),
    dataset: {
      ...(job.dataset_id === undefined ? {} : { dataset_id: job.dataset_id }),
      ...(job.dataset_version_id === undefined ? {} : { dataset_version_id: job.dataset_version_id }),
      images,
      boxes,
    },
    preprocessing: preprocessingOf(side),
    result: { evaluated_on, count, map50, map75, map, chosen, interval_95: wilson(map50, count) },
    per_class,
    training: {
      seed: evaluation.seed,
      recipe: {
        recipe: recipe.recipe,
        side: recipe.side,
        batch: recipe.batch,
        hidden: recipe.hidden,
        learningRate: recipe.learningRate,
        views: recipe.augmentations,
      },
      epochs_run: evaluation.curve.length - 1,
      seconds: evaluation.seconds,
      device: evaluation.device,
      machine: evaluation.machine,
      versions: evaluation.versions,
      curves: modelFiles.curves,
    },
    limits: [
      'It finds things of the labels above alone, and is blind to things smaller than about 3 % of the image.',
      'The figures hold for images like those of the dataset.',
      ...(evaluated_on === 'validation' ? ['The images of the figures were also used to choose the weights.'] : []),
    ],
  };
}

/** One sentence about the model's quality. */
export function summaryOf({ map50, map75, count, evaluated_on: on }: DetectionEvaluation): string {
  const [at50, at75] = [scoreText('map50', map50, count), scoreText('map75', map75, count)];
  return `mAP50 ${at50}, mAP75 ${at75} on ${count} held-out images (${on}).`;
}

export function modelCardText(card: ModelCard, evaluation: DetectionEvaluation): string {
  const { dataset, training, result } = card;
  const { images, boxes } = dataset;
  const source = dataset.dataset_version_id === undefined ? '' : `Dataset version ${dataset.dataset_version_id}: `;
  const perLabel = card.per_class.map((one) => [
    one.label,
    classText(one, 'ap50'),
    classText(one, 'ap75'),
    classText(one, 'precision'),
    classText(one, 'recall'),
    classText(one, 'f1'),
    one.support,
    one.threshold,
  ]);
  const stages = (
    [
      ['probe', evaluation.probe],
      ['longer training', evaluation.fine_tuned],
    ] as const
  ).flatMap(([name, score]) => (score ? [[name, percent(score.map50), percent(score.map75), percent(score.map)]] : []));
  const worst = evaluation.worst.map(
    ({ file_name, image_path, missed, wrong }) =>
      `${file_name || image_path}: ${missed.length} missed${missed.length > 0 ? ` (${missed.map(({ label }) => label).join(', ')})` : ''}, ${wrong.length} wrong${wrong.length > 0 ? ` (${wrong.map(({ label, score }) => `${label} ${score.toFixed(2)}`).join(', ')})` : ''}`,
  );
  return [
    `# ${card.name} ${card.version}`,
    '',
    `Object detector of ${card.labels.length} labels, from ${card.pretrained.name} (${card.pretrained.license}).`,
    '',
    `**${summaryOf(evaluation)}** mAP50:95 ${percent(result.map)}; the ${result.chosen} won.`,
    ...warningLines(evaluation),
    '',
    ...table(['label', 'AP50', 'AP75', 'precision', 'recall', 'F1', 'held-out boxes', 'counts from'], perLabel),
    '',
    'Precision, recall and F1 at the score in the last column and an overlap (IoU) of 0.5.',
    intervalNote,
    '',
    ...table(['stage', 'mAP50', 'mAP75', 'mAP50:95'], stages),
    '',
    '## Use',
    `- Input \`${card.input.name}\`: ${card.input.type} [${card.input.shape.join(', ')}], ${card.input.meaning}.`,
    ...card.outputs.map(
      ({ name, type, shape, meaning }) => `- Output \`${name}\`: ${type} [${shape.join(', ')}], ${meaning}.`,
    ),
    ...useSection(
      card.preprocessing,
      sampleProgram({ file: mainFile(card.files), side: evaluation.side, task: card.task }),
    ),
    ...fileTable(evaluation),
    ...int8Section(evaluation.int8),
    ...networkSection(evaluation.networks),
    ...trainingSection(evaluation, {
      epochs: training.epochs_run,
      counts: `${source}${images.train} training, ${images.validation} validation, ${images.test} test images with ${boxes.train}, ${boxes.validation} and ${boxes.test} boxes; ${images.skipped} skipped.`,
      limits: card.limits,
    }),
    ...section('Images that went most wrong', worst),
    '',
  ].join('\n');
}
