/** Measures the exported files on held-out images, and compares them with the trained network. */
import { setImmediate } from 'node:timers/promises';
import { boxesOf } from '@platform/contract/model-output';
import type { Session } from '@platform/trainer-engine/runtime';
import { openSession } from '@platform/trainer-engine/runtime';
import { runTfliteInSteps } from '@platform/trainer-engine/tflite/interpreter';
import type { Detection, EvaluatedImage } from './average-precision.ts';
import { aboveMinScore } from './decode.ts';
import { finalBoxes } from './rescoring.ts';
import { TrainedHead } from './trained-head.ts';
import type { TrainedModel, Stage } from './train-model.ts';
import type { TrainingRun } from './training-run.ts';
import type { Sample } from './prepare.ts';

export interface Measurements {
  heldOut: readonly Sample[];
  /** Results by stage; the chosen stage is delivered. */
  evaluated: ReadonlyMap<Stage, readonly EvaluatedImage[]>;
  medianMs: number;
  maxDifference: number;
  /** Maximum difference of the TensorFlow Lite file; undefined without one. */
  tfliteDifference: number | undefined;
  tfliteMs: number | undefined;
  seconds: number;
}
export interface Models {
  onnx: ReadonlyMap<Stage, () => Uint8Array>;
  /** The file of the chosen stage. */
  tflite: Uint8Array | undefined;
}
/** Maximum difference of a coordinate (0..1) or score between the trained and the exported network. */
const tolerance = 1e-3;
/** Allowed share of missing boxes: rounding decides about two boxes whose IoU is exactly at the limit. */
const allowedMissingShare = 0.02;
/** Number of validation images in the comparison. */
const comparedImages = 32;
/** Boxes with a lower score are not compared. */
const minComparedScore = 0.05;

export async function measure(
  run: TrainingRun,
  trained: TrainedModel,
  { onnx: models, tflite }: Models,
): Promise<Measurements> {
  const { training, prepared, progress } = run;
  const { clock, threads } = training;
  const started = clock.now();
  const heldOut = prepared.test.length > 0 ? prepared.test : prepared.validation;
  const evaluated = new Map<Stage, readonly EvaluatedImage[]>();
  let medianMs = 0;
  const { maxDifference, fullest } = await compareOnnx(run, trained, models);
  let done = 0;
  for (const [stage, made] of models) {
    const session = await openSession(made(), threads);
    try {
      const times: number[] = [];
      const results: EvaluatedImage[] = [];
      for (const sample of heldOut) {
        const { found, ms } = await detect(session, prepared.pixels(sample), run);
        times.push(ms);
        results.push({ truth: sample.boxes, found: aboveMinScore(found) });
        progress.update('evaluate', Math.min(0.99, ++done / (models.size * heldOut.length)));
      }
      evaluated.set(stage, results);
      if (stage === trained.chosen) medianMs = medianOf(times);
    } finally {
      await session.release();
    }
  }
  const checked = tflite && fullest ? await compareTflite(run, fullest, tflite) : undefined;
  const ofTflite = { tfliteDifference: checked?.maxDifference, tfliteMs: checked?.ms };
  progress.update('evaluate', 1);
  return {
    heldOut,
    evaluated: evaluated,
    medianMs,
    maxDifference,
    ...ofTflite,
    seconds: (clock.now() - started) / 1000,
  };
}

const medianOf = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

/** Median time of an exported file per image. */
export async function timeModel(run: TrainingRun, onnx: Uint8Array, samples: readonly Sample[]): Promise<number> {
  const session = await openSession(onnx, run.training.threads);
  try {
    const times: number[] = [];
    for (const sample of samples) times.push((await detect(session, run.prepared.pixels(sample), run)).ms);
    return medianOf(times);
  } finally {
    await session.release();
  }
}

/** Runs one image per call through an exported file, as in production. */
async function detect(
  session: Session,
  pixels: Uint8Array,
  { training: { clock, signal }, recipe: { side } }: TrainingRun,
): Promise<{ found: Detection[]; ms: number }> {
  signal.throwIfAborted();
  const started = clock.now();
  const results = await session.run({ image: { data: pixels, dims: [1, side, side, 3] } });
  const ms = clock.now() - started;
  return { found: boxesOf(results('location'), results('category'), results('score')), ms };
}

export interface Comparison {
  maxDifference: number;
  compared: number;
  /** Boxes that the other list lacks. */
  missing: number;
}
/** Distance of each box to the most similar one of the other list. */
export function compareDetections(trained: readonly Detection[], delivered: readonly Detection[]): Comparison {
  const result: Comparison = { maxDifference: 0, compared: 0, missing: 0 };
  for (const one of trained) {
    if (one.score < minComparedScore) continue;
    let nearest = Infinity;
    for (const other of delivered) {
      if (other.label !== one.label) continue;
      const corners = (['left', 'top', 'right', 'bottom', 'score'] as const).map((key) =>
        Math.abs(one[key] - other[key]),
      );
      nearest = Math.min(nearest, Math.max(...corners));
    }
    result.compared++;
    if (nearest > tolerance) result.missing++;
    else result.maxDifference = Math.max(result.maxDifference, nearest);
  }
  return result;
}

/** An image and the detections of the exported ONNX file. */
interface ComparedImage {
  sample: Sample;
  found: readonly Detection[];
}
const countConfident = (found: readonly Detection[]): number =>
  found.filter(({ score }) => score >= minComparedScore).length;

/** Detections of the trained head, on the features of the frozen networks. */
async function detectByHead(
  run: TrainingRun,
  trained: TrainedModel,
  samples: readonly Sample[],
): Promise<readonly (readonly Detection[])[]> {
  const { training } = run;
  const head = await TrainedHead.open(run, trained.weights.get(trained.chosen) ?? new Map<string, Float32Array>());
  const found: Detection[][] = [];
  try {
    for (const sample of samples) {
      await setImmediate();
      training.signal.throwIfAborted();
      const features = await trained.features(sample);
      found.push(finalBoxes(trained.rescoring, await head.peaks(features), features.cells));
    }
  } finally {
    await head.release();
  }
  return found;
}

/**
 * Compares the exported file with the trained head, and throws if they differ. The sessions of the head and of the file
 * are not open at the same time: together they need 60 MB more than a training step.
 *
 * @returns fullest: the compared image with the most boxes.
 */
async function compareOnnx(
  run: TrainingRun,
  trained: TrainedModel,
  models: Models['onnx'],
): Promise<{ maxDifference: number; fullest: ComparedImage | undefined }> {
  const { training, prepared } = run;
  const samples = [...prepared.validation, ...prepared.test, ...prepared.train].slice(0, comparedImages);
  const byHead = await detectByHead(run, trained, samples);
  await trained.release();
  const delivered = await openSession(models.get(trained.chosen)?.() ?? new Uint8Array(), training.threads);
  const total: Comparison = { maxDifference: 0, compared: 0, missing: 0 };
  let fullest: ComparedImage | undefined;
  try {
    for (const [i, sample] of samples.entries()) {
      const { found } = await detect(delivered, prepared.pixels(sample), run);
      if (!fullest || countConfident(found) > countConfident(fullest.found)) fullest = { sample, found };
      const one = compareDetections(byHead[i] ?? [], found);
      total.compared += one.compared;
      total.missing += one.missing;
      total.maxDifference = Math.max(total.maxDifference, one.maxDifference);
    }
  } finally {
    await delivered.release();
  }
  requireSame(total, 'delivered model');
  return { maxDifference: total.maxDifference, fullest };
}
function requireSame({ missing, compared }: Comparison, name: string): void {
  if (missing <= allowedMissingShare * compared) return;
  throw new Error(`${missing} of ${compared} boxes of the trained network are not those of the ${name}`);
}

/** Compares on one image: the interpreter here needs seconds per image. */
async function compareTflite(
  { prepared, training }: TrainingRun,
  { sample, found }: ComparedImage,
  tflite: Uint8Array,
): Promise<{ maxDifference: number; ms: number }> {
  const began = training.clock.now();
  const results = await runTfliteInSteps(tflite, prepared.pixels(sample), async () => {
    await setImmediate();
    training.signal.throwIfAborted();
  });
  const ms = training.clock.now() - began;
  const { location, category, score } = results;
  if (!location || !category || !score) throw new Error('the .tflite file lacks an output');
  const foundByTflite = boxesOf(location, category, score);
  const both = [compareDetections(found, foundByTflite), compareDetections(foundByTflite, found)];
  for (const one of both) requireSame(one, 'delivered .tflite file');
  return { maxDifference: Math.max(...both.map((one) => one.maxDifference)), ms };
}
