/** What the evaluations of all kinds of models share, and the files beside a model. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Evaluation, HeldOutReport, ImageReference, Stage } from '@platform/contract/job/evaluation';
import { modelFiles } from '@platform/contract/job/job';
import type { DatasetLine } from '@platform/contract/job/job';
import { renderCurves } from './curves.ts';
import type { CurvePoint } from './curves.ts';
import type { Device } from './device.ts';
import type { Int8Result } from './int8/export.ts';
import type { Skipped } from './dataset-images.ts';
import { latencyBy } from './measured-by.ts';
import type { ModelsOnDisk } from './model-file.ts';
import { round } from './progress.ts';
import type { Training } from './training.ts';
import { machine, versions } from './versions.ts';

/** Fields that the evaluations of all kinds share. */
export type EvaluationHead = Omit<
  Evaluation,
  'task' | 'accuracy' | 'macro_f1' | 'per_class' | 'confusion' | 'probe' | 'fine_tuned' | 'curve' | 'worst'
>;

const maxSkipped = 100;
/** Results of the exported files on the held-out images. */
export interface Measured<S> {
  heldOut: readonly S[];
  medianMs: number;
  /** Largest difference between the trained network and the ONNX file. */
  maxDifference: number;
  /** Largest difference of the TensorFlow Lite file; undefined if the job requests none. */
  tfliteDifference: number | undefined;
  /** Time of LiteRT; undefined if it ran no image. */
  tfliteMs: number | undefined;
  seconds: number;
}
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
  measured: Measured<S>;
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
