/** The card of a model, model_card.json and model_card.md: what all kinds of models share. */
import { scoreText, wilson } from '@platform/contract/job/confidence';
import { megabytesOf } from '@platform/contract/job/evaluation';
import type { AnyEvaluation, Int8Report, ModelFile, NetworkChoice } from '@platform/contract/job/evaluation';
import { modelFiles } from '@platform/contract/job/job';
import type { JobSpec } from '@platform/contract/job/job';
import { heldOutSentences } from './held-out.ts';
import { percent, section, table } from './markdown.ts';
import { sampleProgram } from './sample-program.ts';
import { scoreWarnings } from './score-warnings.ts';

/** What the kind of the model adds to model_card.json. */
export interface CardFields {
  license: string;
  /** Inputs and outputs, and what one needs to read them. */
  ports: object;
  /** More about the dataset than the number of images. */
  counts?: object;
  /** The scores; `mainScore` gets Wilson's interval. */
  scores: object;
  mainScore: number;
  confusion?: number[][] | undefined;
  /** Hyperparameters. */
  recipe: object;
  /** What the model cannot do, in one sentence. */
  limit: string;
}

/** The content of model_card.json. */
export function modelCardOf<F extends CardFields>(job: JobSpec, evaluation: AnyEvaluation, fields: F) {
  const { count, evaluated_on, int8, networks, pretrained, side, seed, seconds, device, versions } = evaluation;
  return {
    name: job.model_name,
    version: job.model_version,
    task: evaluation.task,
    labels: evaluation.labels,
    ...(fields.ports as F['ports']),
    files: evaluation.files,
    /** The INT8 forms: their scores, and why one is left out. */
    ...(int8 && { int8 }),
    /** Recipes `auto` and `accurate` only: what the networks cost and how well they did. */
    ...(networks && { networks }),
    pretrained: { ...pretrained, license: fields.license },
    dataset: {
      ...(job.dataset_id !== undefined && { dataset_id: job.dataset_id }),
      ...(job.dataset_version_id !== undefined && { dataset_version_id: job.dataset_version_id }),
      images: evaluation.images,
      ...fields.counts,
    },
    /** Preprocessing steps of an image. */
    preprocessing: preprocessingOf(side),
    result: {
      evaluated_on,
      count,
      ...(fields.scores as F['scores']),
      chosen: evaluation.chosen,
      interval_95: wilson(fields.mainScore, count),
    },
    per_class: evaluation.per_class,
    /** Rows: true label, columns: predicted label. */
    ...(fields.confusion && { confusion: fields.confusion }),
    training: {
      seed,
      recipe: fields.recipe,
      /** Epoch 0 is the probe. */
      epochs_run: evaluation.curve.length - 1,
      seconds,
      device,
      machine: evaluation.machine,
      versions,
      curves: modelFiles.curves,
    },
    limits: [
      fields.limit,
      'The figures hold for images like those of the dataset.',
      ...(evaluated_on === 'validation' ? ['The images of the figures were also used to choose the weights.'] : []),
    ],
  };
}

/** What the kind of the model adds to model_card.md. */
export interface CardText {
  /** "Object detector". */
  kind: string;
  /** The score in bold, and what follows it. */
  summary: string;
  scores: string;
  /** Lines of the tables of scores. */
  tables: readonly string[];
  /** Lines that describe inputs and outputs. */
  ports: readonly string[];
  /** A sentence about the training and held-out images. */
  counts: string;
  /** Lines of the last sections. */
  last: readonly string[];
}

/** The content of model_card.md. */
export function modelCardText(
  card: ReturnType<typeof modelCardOf>,
  evaluation: AnyEvaluation,
  { kind, summary, scores, tables, ports, counts, last }: CardText,
): string {
  const { pretrained, dataset } = card;
  const source = dataset.dataset_version_id === undefined ? '' : `Dataset version ${dataset.dataset_version_id}: `;
  const program = sampleProgram({ file: mainFile(card.files), side: evaluation.side, task: card.task });
  const lines = [
    `# ${card.name} ${card.version}`,
    '',
    `${kind} of ${card.labels.length} labels, from ${pretrained.name} (${pretrained.license}).`,
    '',
    `**${summary}** ${scores}; the ${card.result.chosen} won.`,
    ...warningLines(evaluation),
    '',
    ...tables,
    '',
    '## Use',
    ...ports,
    ...useSection(card.preprocessing, program),
    ...fileTable(evaluation),
    ...int8Section(evaluation.int8),
    ...networkSection(evaluation.networks),
    ...trainingSection(evaluation, {
      epochs: card.training.epochs_run,
      counts: `${source}${counts}`,
      limits: card.limits,
    }),
    ...last,
    '',
  ];
  return lines.join('\n');
}

/** Lines below the score in a model card. */
const warningLines = (evaluation: AnyEvaluation): string[] =>
  scoreWarnings(evaluation).flatMap((warning) => ['', `> **Warning**: ${warning}`]);

/** The float32 file that the sample program runs: TensorFlow Lite if there is one. */
const mainFile = (files: readonly Pick<ModelFile, 'file' | 'precision'>[]): string =>
  files.findLast(({ precision }) => precision === undefined)?.file ?? '';

/** Table of the model files for the model card, with the method of their latency measurement. */
function fileTable({ files }: AnyEvaluation): string[] {
  const rows = files.map(({ file, size_bytes, latency_ms, sha256 }) => [
    file,
    size_bytes,
    latency_ms === null ? 'not measured' : `${latency_ms} ms`,
    sha256,
  ]);
  const measured = files.flatMap(({ file, latency_ms, latency_by }) =>
    latency_ms === null || latency_by === undefined ? [] : [`- ${file} was measured with ${latency_by}.`],
  );
  return [...table(['file', 'bytes', 'one image', 'sha256'], rows), '', ...measured];
}

/** Preprocessing of every image in training and evaluation; a prediction needs the same. */
const preprocessingOf = (side: number): string[] => [
  'The EXIF orientation is applied.',
  'Transparent parts are put on white.',
  'Colours are converted to sRGB with 8 bits a channel.',
  `The image is stretched to ${side} × ${side} px (Lanczos); its aspect ratio is not kept.`,
];

/** Section of a model card: the input, and a sample program. */
const useSection = (preprocessing: readonly string[], program: readonly string[]): string[] => [
  '',
  'Images are prepared as in training:',
  '',
  ...preprocessing.map((step) => `- ${step}`),
  '',
  'In Python, in the folder of these files (`python sample.py image.jpg`):',
  '',
  '```python',
  ...program,
  '```',
  '',
];

/**
 * Last section of a model card.
 *
 * @param epochs - epochs after the probe.
 * @param counts - a sentence about the training and held-out images.
 */
function trainingSection(
  evaluation: AnyEvaluation,
  { epochs, counts, limits }: { epochs: number; counts: string; limits: readonly string[] },
): string[] {
  const { seed, seconds, device, machine: computer, pretrained, advice, skipped } = evaluation;
  const { held_out: heldOut, count } = evaluation;
  const warnings = new Set(scoreWarnings(evaluation));
  const made = Object.entries(evaluation.versions).map(([name, version]) => `${name} ${version}`);
  return [
    '',
    '## Training',
    `![Loss and score by epoch](${modelFiles.curves})`,
    '',
    `- ${counts}`,
    ...(heldOut ? [`- ${heldOutSentences(heldOut, count).split}`] : []),
    `- Seed ${seed}; ${epochs} epochs after the probe; ${seconds.total} s on ${device.name}, ${computer.cores} cores (${computer.cpu}), ${megabytesOf(computer.peak_rss_mib)} MB.`,
    `- Pretrained weights sha256 ${pretrained.sha256}; ${made.join(', ')}.`,
    ...section('Limits', limits),
    ...section(
      'Advice',
      advice.filter((one) => !warnings.has(one)),
    ),
    ...section(
      'Skipped images',
      skipped.map(({ file_name, image_path, reason }) => `${file_name || image_path}: ${reason}`),
    ),
  ];
}

const metricNames: Readonly<Record<Int8Report['metric'], string>> = {
  accuracy: 'accuracy',
  micro_f1: 'micro F1',
  map50: 'mAP50',
};

export function int8Section(report: Int8Report | undefined): string[] {
  if (!report) return [];
  const { calibration_images: images, metric, float32, cases, forms } = report;
  if (forms.length === 0) return ['', '## INT8', 'No INT8 form: the time of the job was over.'];
  const rows = forms.map((one) => [
    one.file,
    one.size_bytes,
    scoreText(metric, one.score, one.cases ?? cases),
    one.is_delivered ? 'delivered' : 'left out',
    one.reason,
  ]);
  return [
    '',
    '## INT8',
    `The same network with 8-bit numbers: smaller, and faster where the runtime uses integer arithmetic. ${images} training images chose the ranges of the numbers; weights have a scale for each channel. The float32 ONNX file has ${metricNames[metric]} ${scoreText(metric, float32, cases)} on the same held-out images.`,
    '',
    ...table(['file', 'bytes', metricNames[metric], '', 'reason'], rows),
    '',
    ...forms.map(
      ({ file, score_by: by, images: count }) =>
        `- The score of ${file} was measured with ${by}${count === undefined ? '' : ` on ${count} held-out images`}.`,
    ),
  ];
}

function networkSection(networks: NetworkChoice | undefined): string[] {
  if (!networks) return [];
  const { candidates, chosen, gain, reason } = networks;
  const rows = candidates.map((one) => [
    one.recipe === chosen ? `${one.recipe} (delivered)` : one.recipe,
    one.name,
    one.stage,
    percent(one.validation_score),
    (one.size_bytes / 1e6).toFixed(1),
    one.latency_ms,
    one.seconds,
  ]);
  const difference = gain
    ? [` Difference: ${percent(gain.mean)} ± ${percent(gain.standard_error)} (paired standard error).`]
    : [];
  return [
    '',
    '## Networks',
    ...table(
      ['recipe', 'network', 'stage', 'validation images', 'ONNX file, MB', 'one image, ms', 'training, s'],
      rows,
    ),
    '',
    `${reason}${difference.join('')}`,
  ];
}
