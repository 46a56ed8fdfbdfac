/** Makes the INT8 form of a trained model, measures it, and delivers it unless it loses too much. */
import type { Int8Form, Int8Report, ModelFile } from '@platform/contract/job/evaluation';
import type { Clock } from '../clock.ts';
import type { Events } from '../events.ts';
import type { Layer } from '../network/layers.ts';
import { latencyBy, scoreBy } from '../measured-by.ts';
import { releaseArray, writeModel } from '../model-file.ts';
import { round } from '../progress.ts';
import { seeded, shuffled } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Session } from '../runtime.ts';
import { openTflite } from '../tflite/litert.ts';
import type { TfliteSession } from '../tflite/litert.ts';
import type { Training } from '../training.ts';
import { int8Decision } from './decision.ts';
import type { MeasuredScore } from './decision.ts';
import { int8Layers, int8Plan, int8Values } from './plan.ts';
import type { ConvolutionForm, Int8Plan } from './plan.ts';
import { FLOAT, Graph, UINT8 } from '../onnx/graph.ts';
import { emitOnnx } from '../network/onnx.ts';
import { needed } from '../network/layers.ts';
import { rangeOf } from '../quantization.ts';
import type { Range } from '../quantization.ts';

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
  measureOnnx(session: Session): Promise<MeasuredInt8>;
  /** Runs the TensorFlow Lite form on the held-out images, or on a fixed number of them. */
  measureTflite(session: TfliteSession): Promise<MeasuredInt8>;
  /** Undefined if the job requests no TensorFlow Lite file. */
  tflite: ((plan: Int8Plan) => Uint8Array) | undefined;
}
export interface MeasuredInt8 {
  score: number;
  /** Score of the float32 file on the same images. */
  float32: MeasuredScore;
  images: number;
  medianMs: number;
  /** Largest difference of an output to the float32 file; null for boxes, which may be others. */
  maxDifference: number | null;
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

/** Positions of at most `most` of `count` held-out images, in their order, the same ones by the same seed. */
export const sampled = (count: number, most: number, seed: number): number[] =>
  shuffled([...Array(count).keys()], seeded('int8 held-out', seed))
    .slice(0, most)
    .toSorted((a, b) => a - b);

/** @param started - of the job, on its clock. */
export async function exportInt8(training: Int8Job, started: number, source: Int8Source): Promise<Int8Result> {
  const { job, clock, events } = training;
  const { metric, score: float32, cases } = source.float32;
  const report = { calibration_images: source.images.length, metric, float32, cases };
  if (clock.now() - started > 1000 * latestShare * job.limits.wall_seconds) {
    return { report: { ...report, calibration_images: 0, forms: [] }, files: [] };
  }
  const plan = await calibrate(training, source);
  const delivered = [await exportOnnx(training, source, plan)];
  if (source.tflite) delivered.push(await exportTflite(training, source, source.tflite(plan)));
  for (const { form } of delivered) {
    const message = `${form.is_delivered ? 'Delivers' : 'Leaves out'} ${form.file}. ${form.reason}`;
    events.emit({ is: 'log', level: form.is_delivered ? 'info' : 'warn', message });
  }
  return {
    report: { ...report, forms: delivered.map(({ form }) => form) },
    files: delivered.flatMap(({ file }) => (file ? [file] : [])),
  };
}

interface ExportedForm {
  form: Int8Form;
  /** Undefined if the form is left out. */
  file: ModelFile | undefined;
}

async function exportOnnx(training: Int8Job, source: Int8Source, plan: Int8Plan): Promise<ExportedForm> {
  const bytes = source.onnx(plan);
  const started = training.clock.now();
  const session = await openSession(bytes, training.threads);
  const measured = await source.measureOnnx(session);
  await session.release();
  return deliver(training, { format: 'onnx', bytes, measured, started });
}

async function exportTflite(training: Int8Job, source: Int8Source, bytes: Uint8Array): Promise<ExportedForm> {
  const started = training.clock.now();
  await using session = await openTflite(bytes, training.signal);
  const measured = await source.measureTflite(session);
  return deliver(training, { format: 'tflite', bytes, measured, started });
}

interface MeasuredForm {
  format: Int8Form['format'];
  bytes: Uint8Array;
  measured: MeasuredInt8;
  /** Start of the measurement. */
  started: number;
}

/** Writes the file unless the form loses too much. */
async function deliver(
  { job, clock, outFolder }: Int8Job,
  { format, bytes, measured, started }: MeasuredForm,
): Promise<ExportedForm> {
  const { score, float32, images, medianMs, maxDifference } = measured;
  const { isDelivered, reason } = int8Decision(float32, score);
  const file = `${job.model_name}.int8.${format}`;
  const form: Int8Form = {
    format,
    file,
    size_bytes: bytes.byteLength,
    score,
    score_by: scoreBy[format],
    images,
    cases: float32.cases,
    seconds: round((clock.now() - started) / 1000),
    is_delivered: isDelivered,
    reason,
  };
  if (!isDelivered) return { form, file: undefined };
  const latency = { latency_ms: round(medianMs), latency_by: latencyBy[format], max_difference: maxDifference };
  return { form, file: { ...(await writeModel(outFolder, file, bytes)), precision: 'int8', ...latency } };
}

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

/** Pixels are from 0 to 255, whatever the images hold. */
const ofImage: Range = { low: 0, high: 255 };

/** Input: image [1,S,S,3] uint8. Outputs: the lowest and the highest number of each value, `low` and `high`. */
function rangeGraph(layers: readonly Layer[], side: number, values: readonly number[]): Buffer {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const image = graph.op('Transpose', [graph.op('Cast', ['image'], { to: FLOAT })], { perm: [0, 3, 1, 2] });
  const names = new Map([[0, image]]);
  emitOnnx(graph, needed(layers, values), names);
  for (const [output, reduce] of [
    ['low', 'ReduceMin'],
    ['high', 'ReduceMax'],
  ] as const) {
    const ends = values.map((value) => graph.op(reduce, [names.get(value) ?? ''], { keepdims: 1 }));
    const listed = ends.map((end) => graph.op('Reshape', [end, graph.ints([1])]));
    graph.op('Concat', listed, { axis: 0 }, output);
    graph.outputs.push({ name: output, type: FLOAT, dims: [values.length] });
  }
  return graph.encode();
}

/** @param images - pixels of each image. */
async function measureRanges(
  session: Session,
  { side, values, signal }: { side: number; values: readonly number[]; signal: AbortSignal },
  images: readonly (() => Uint8Array)[],
): Promise<ReadonlyMap<number, Range>> {
  const found = values.map((): Range[] => []);
  for (const pixels of images) {
    signal.throwIfAborted();
    const results = await session.run({ image: { data: pixels(), dims: [1, side, side, 3] } });
    const [low, high] = [results('low'), results('high')];
    for (const [i, ranges] of found.entries()) ranges.push({ low: low[i] ?? 0, high: high[i] ?? 0 });
  }
  return new Map(values.map((value, i) => [value, value === 0 ? ofImage : rangeOf(found[i] ?? [])]));
}
