/** The parts of evaluation.json and the model card that all kinds of models share. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { megabytesOf } from '@platform/contract/job/evaluation';
import type {
  AnyEvaluation,
  Evaluation,
  HeldOutReport,
  ImageReference,
  ModelFile,
  Stage,
} from '@platform/contract/job/evaluation';
import { modelFiles } from '@platform/contract/job/job';
import type { DatasetLine } from '@platform/contract/job/job';
import { renderCurves } from './curves.ts';
import type { CurvePoint } from './curves.ts';
import type { Device } from './device.ts';
import type { Int8Result } from './int8/export.ts';
import type { Skipped } from './dataset-images.ts';
import { heldOutSentences } from './held-out.ts';
import { section, table } from './markdown.ts';
import { latencyBy } from './measured-by.ts';
import type { ModelsOnDisk } from './model-file.ts';
import { round } from './progress.ts';
import { scoreWarnings } from './score-warnings.ts';
import type { Training } from './training.ts';
import { machine, versions } from './versions.ts';

/** Fields that the evaluations of all kinds share. */
export type EvaluationHead = Omit<
  Evaluation,
  'task' | 'accuracy' | 'macro_f1' | 'per_class' | 'confusion' | 'probe' | 'fine_tuned' | 'curve' | 'worst'
>;

const maxSkipped = 100;
/** Data of a measured training. */
export interface ReportInput<S extends { line: DatasetLine } = { line: DatasetLine }> {
  training: Pick<Training, 'job'>;
  device: Device;
  side: number;
  prepared: {
    labels: readonly string[];
    train: readonly S[];
    validation: readonly unknown[];
    test: readonly unknown[];
    skipped: readonly Skipped[];
    heldOut: HeldOutReport;
  };
  trained: { chosen: Stage; seconds: { probe: number; fine_tune: number } };
  exported: ModelsOnDisk;
  int8: Int8Result;
  measured: {
    heldOut: readonly S[];
    medianMs: number;
    maxDifference: number;
    /** Undefined without a TensorFlow Lite file. */
    tfliteDifference: number | undefined;
    /** Time of LiteRT; undefined if it ran no image. */
    tfliteMs: number | undefined;
    seconds: number;
  };
  pretrained: { name: string; sha256: string };
  advice: string[];
  /** Duration since the start of the trainer. */
  seconds: number;
}

export function evaluationHead<S extends { line: DatasetLine }>(course: ReportInput<S>): EvaluationHead {
  const { training, device, side, prepared, trained, exported, int8, measured, pretrained } = course;
  const { labels, train, validation, test, skipped } = prepared;
  const model = { ...exported.onnx, latency_ms: round(measured.medianMs), max_difference: measured.maxDifference };
  const tflite = exported.tflite
    ? [
        {
          ...exported.tflite,
          latency_ms: measured.tfliteMs === undefined ? null : round(measured.tfliteMs),
          latency_by: latencyBy.tflite,
          max_difference: measured.tfliteDifference ?? null,
        },
      ]
    : [];
  return {
    format: 1,
    labels: [...labels],
    evaluated_on: test.length > 0 ? 'test' : 'validation',
    count: measured.heldOut.length,
    chosen: trained.chosen,
    images: { train: train.length, validation: validation.length, test: test.length, skipped: skipped.length },
    skipped: skipped
      .slice(0, maxSkipped)
      .map(({ line: { image_path, file_name }, reason }) => ({ image_path, file_name, reason })),
    seed: training.job.seed,
    side,
    seconds: { total: round(course.seconds), ...trained.seconds, evaluation: round(measured.seconds) },
    model,
    files: [{ ...model, latency_by: latencyBy.onnx }, ...tflite, ...int8.files],
    int8: int8.report,
    pretrained: { name: pretrained.name, sha256: pretrained.sha256 },
    versions: versions(),
    machine: machine(),
    device: { name: device.name, reason: device.reason },
    advice: course.advice,
    held_out: prepared.heldOut,
  };
}

export function referenceTo({ image_path, file_name, sha256, binary_data_id }: DatasetLine): ImageReference {
  return { image_path, file_name, sha256, ...(binary_data_id === undefined ? {} : { binary_data_id }) };
}

/** Lines below the score in a model card. */
export const warningLines = (evaluation: AnyEvaluation): string[] =>
  scoreWarnings(evaluation).flatMap((warning) => ['', `> **Warning**: ${warning}`]);

/** The float32 file that the sample program runs: TensorFlow Lite if there is one. */
export const mainFile = (files: readonly Pick<ModelFile, 'file' | 'precision'>[]): string =>
  files.findLast(({ precision }) => precision === undefined)?.file ?? '';

/** Table of the model files for the model card, with the method of their latency measurement. */
export function fileTable({ files }: Pick<EvaluationHead, 'files'>): string[] {
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
export const preprocessingOf = (side: number): string[] => [
  'The EXIF orientation is applied.',
  'Transparent parts are put on white.',
  'Colours are converted to sRGB with 8 bits a channel.',
  `The image is stretched to ${side} × ${side} px (Lanczos); its aspect ratio is not kept.`,
];

/** Section of a model card: the input, and a sample program. */
export const useSection = (preprocessing: readonly string[], program: readonly string[]): string[] => [
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
export function trainingSection(
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

/** Writes all files except the models. */
export async function writeReports(
  folder: string,
  evaluation: EvaluationHead,
  { card, text, points, score }: { card: unknown; text: string; points: readonly CurvePoint[]; score: string },
): Promise<void> {
  const files = {
    [modelFiles.labels]: `${evaluation.labels.join('\n')}\n`,
    [modelFiles.evaluation]: `${JSON.stringify(evaluation, undefined, 2)}\n`,
    [modelFiles.curves]: await renderCurves(points, score),
    [modelFiles.cardJson]: `${JSON.stringify(card, undefined, 2)}\n`,
    [modelFiles.cardText]: text,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
}
