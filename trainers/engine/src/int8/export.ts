/** Makes the INT8 form of a trained model, measures it, and delivers it unless it loses too much. */
import type { Int8Form, Int8Report, ModelFile } from '@platform/contract/evaluation';
import type { Clock } from '../clock.ts';
import type { Events } from '../events.ts';
import type { Layer } from '../network/layers.ts';
import { releaseArray, writeModel } from '../model-file.ts';
import { round } from '../progress.ts';
import { seeded, shuffled } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Session } from '../runtime.ts';
import type { Training } from '../training.ts';
import { measureRanges, rangeGraph } from './calibration.ts';
import { int8Decision } from './decision.ts';
import type { MeasuredScore } from './decision.ts';
import { int8Layers, int8Plan, int8Values } from './plan.ts';
import type { ConvolutionForm, Int8Plan } from './plan.ts';

/** What a trainer knows of its model. */
export interface Int8Source {
  layers: readonly Layer[];
  side: number;
  formOf(this: void, value: number): ConvolutionForm;
  /** Pixels of the training images that choose the ranges. */
  images: readonly (() => Uint8Array)[];
  /** Score of the float32 ONNX file. */
  float32: MeasuredScore;
  onnx(plan: Int8Plan): Uint8Array;
  /** Runs the ONNX form on the held-out images. */
  measure(session: Session): Promise<MeasuredInt8>;
  /** Undefined if the job requests no TensorFlow Lite file. */
  tflite: ((plan: Int8Plan) => Uint8Array) | undefined;
}
export interface ComparedTflite {
  images: number;
  maxDifference: number;
  /** Whether the results are the same but for rounding. */
  isSame: boolean;
}
export interface MeasuredInt8 {
  score: number;
  medianMs: number;
  /** Largest difference of an output to the float32 file; null for boxes, which may be others. */
  maxDifference: number | null;
  /** Runs the TensorFlow Lite form on some of the images, and compares the results with those of this form. */
  compareTflite(this: void, file: Uint8Array): Promise<ComparedTflite>;
}
export interface Int8Result {
  report: Int8Report;
  /** The delivered files. */
  files: ModelFile[];
}

export type Int8Job = Pick<Training, 'outFolder' | 'threads' | 'signal'> & {
  job: { model_name: string; limits: { wall_seconds: number } };
  clock: Pick<Clock, 'now'>;
  events: Pick<Events, 'emit'>;
};

/** Share of the job's time after which no INT8 form is made. */
const latestShare = 0.9;
const maxCalibrationImages = 64;

/** The training images that choose the ranges, the same ones by the same seed. */
export const calibrationSamples = <S>(train: readonly S[], seed: number): S[] =>
  shuffled(train, seeded('int8', seed)).slice(0, maxCalibrationImages);

/** @param started - of the job, on its clock. */
export async function exportInt8(training: Int8Job, started: number, source: Int8Source): Promise<Int8Result> {
  const { job, clock, events, threads, outFolder } = training;
  const { metric, score: float32, cases } = source.float32;
  const report = { calibration_images: source.images.length, metric, float32, cases };
  if (clock.now() - started > 1000 * latestShare * job.limits.wall_seconds) {
    return { report: { ...report, calibration_images: 0, forms: [] }, files: [] };
  }
  const plan = await calibrate(training, source);
  const onnx = source.onnx(plan);
  const session = await openSession(onnx, threads);
  const measured = await source.measure(session);
  await session.release();
  const { score } = measured;
  const { isDelivered, reason } = int8Decision(source.float32, score);
  const message = `${isDelivered ? 'Delivers' : 'Leaves out'} the INT8 form. ${reason}`;
  events.emit({ is: 'log', level: isDelivered ? 'info' : 'warn', message });
  const file = `${job.model_name}.int8.onnx`;
  const form: Int8Form = {
    format: 'onnx',
    file,
    size_bytes: onnx.byteLength,
    score,
    score_by: 'ONNX Runtime',
    is_delivered: isDelivered,
    reason,
  };
  const files: ModelFile[] = [];
  if (isDelivered) {
    const latency = { latency_ms: round(measured.medianMs), max_difference: measured.maxDifference };
    files.push({ ...(await writeModel(outFolder, file, onnx)), precision: 'int8', ...latency });
  }
  const other = source.tflite && (await exportTflite(training, form, source.tflite(plan), measured.compareTflite));
  const forms = [form, ...(other ? [other.form] : [])];
  return { report: { ...report, forms }, files: [...files, ...(other?.files ?? [])] };
}

/** The same numbers as a TensorFlow Lite file. It runs on a few images only: the interpreter here is slow. */
async function exportTflite(
  { job, outFolder }: Int8Job,
  onnx: Int8Form,
  bytes: Uint8Array,
  compare: MeasuredInt8['compareTflite'],
): Promise<{ form: Int8Form; files: ModelFile[] }> {
  const file = `${job.model_name}.int8.tflite`;
  const form: Int8Form = { ...onnx, format: 'tflite', file, size_bytes: bytes.byteLength };
  if (!onnx.is_delivered) return { form: { ...form, score_by: sameNumbers }, files: [] };
  const { images, maxDifference, isSame } = await compare(bytes);
  const difference = maxDifference.toPrecision(2);
  const checked = `${sameNumbers}; on ${images} of the images the trainer's own interpreter ran this file, and the results differ by at most ${difference}`;
  if (!isSame) {
    const reason = 'Its results differ from those of the ONNX form by more than rounding.';
    return { form: { ...form, score_by: checked, is_delivered: false, reason }, files: [] };
  }
  const written = await writeModel(outFolder, file, bytes);
  const measured = { precision: 'int8', latency_ms: null, max_difference: null } as const;
  return { form: { ...form, score_by: checked }, files: [{ ...written, ...measured }] };
}
const sameNumbers = 'ONNX Runtime on the ONNX form, which holds the same numbers';

async function calibrate(
  { threads, signal }: Int8Job,
  { layers, side, formOf, images }: Int8Source,
): Promise<Int8Plan> {
  const computed = int8Layers(layers, side, formOf);
  const values = int8Values(layers, computed);
  if (values.length === 0) return int8Plan(layers, computed, { ranges: new Map(), formOf });
  const graph = rangeGraph(layers, side, values);
  const session = await openSession(graph, threads);
  releaseArray(graph);
  try {
    const ranges = await measureRanges(session, { side, values, signal }, images);
    return int8Plan(layers, computed, { ranges, formOf });
  } finally {
    await session.release();
  }
}
