/** Measures the exported files on held-out images, and compares them with the trained network. */
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { boxesOf } from '@platform/contract/job/model-output';
import { timedImages } from '@platform/trainer-engine/choose-network';
import type { Measured } from '@platform/trainer-engine/report';
import { releaseArray } from '@platform/trainer-engine/model-file';
import type { Session } from '@platform/trainer-engine/runtime';
import { openSession } from '@platform/trainer-engine/runtime';
import { openTflite } from '@platform/trainer-engine/tflite/litert';
import type { TfliteSession } from '@platform/trainer-engine/tflite/litert';
import type { Detection, EvaluatedImage } from './average-precision.ts';
import { aboveMinScore } from './decode.ts';
import { finalBoxes } from './rescoring.ts';
import { TrainedHead } from './trained-head.ts';
import type { TrainedModel, Stage } from './train-model.ts';
import type { TrainingRun } from './training-run.ts';
import type { Sample } from './split.ts';

export interface Measurements extends Measured<Sample> {
  /** Results by stage. */
  evaluated: ReadonlyMap<Stage, readonly EvaluatedImage[]>;
  /** The file with the other networks: its size and time, on at most 20 images. */
  alternative: { bytes: number; medianMs: number } | undefined;
}
/** A file is exported when it is needed: each is as large as the pretrained networks. */
export interface Models {
  /** Paths of the delivered files. */
  onnx: string;
  tflite: string | undefined;
  /** The stage of the delivered files. */
  chosen: Stage;
  /** ONNX files of the other stages. */
  others: ReadonlyMap<Stage, () => Uint8Array>;
  /** ONNX file with the other networks, which is not delivered. */
  alternative: (() => Uint8Array) | undefined;
}
/** Maximum difference of a coordinate (0..1) or score between the trained and the exported network. */
const tolerance = 1e-3;
/** Allowed share of missing boxes: rounding decides about two boxes whose IoU is exactly at the limit. */
const allowedMissingShare = 0.02;
/** Number of validation images in the comparison. */
const comparedImages = 32;
/** Runs of one image that time the .tflite file. */
const timedRuns = 3;
/** Boxes with a lower score are not compared. */
const minComparedScore = 0.05;

export async function measure(run: TrainingRun, reference: Reference, models: Models): Promise<Measurements> {
  const { training, prepared, progress } = run;
  const { clock } = training;
  const started = clock.now();
  const heldOut = prepared.test.length > 0 ? prepared.test : prepared.validation;
  const evaluated = new Map<Stage, readonly EvaluatedImage[]>();
  const { maxDifference, fullest } = await compareOnnx(run, reference, models.onnx);
  const stages: [Stage, () => Uint8Array | string][] = [...models.others, [models.chosen, () => models.onnx]];
  let [medianMs, done] = [0, 0];
  for (const [stage, source] of stages) {
    const { results, medianMs: ms } = await detectAll(run, source(), heldOut, () =>
      progress.update('evaluate', Math.min(0.99, ++done / (stages.length * heldOut.length))),
    );
    evaluated.set(stage, results);
    medianMs = ms;
  }
  const alternative = models.alternative && (await timeModel(run, models.alternative(), heldOut));
  const checked =
    models.tflite && fullest ? await compareTflite(run, fullest, await readFile(models.tflite)) : undefined;
  progress.update('evaluate', 1);
  return {
    heldOut,
    evaluated,
    medianMs,
    maxDifference,
    alternative,
    tfliteDifference: checked?.maxDifference,
    tfliteMs: checked?.ms,
    seconds: (clock.now() - started) / 1000,
  };
}

/** Runs an exported file on all images. Bytes are released. */
async function detectAll(
  run: TrainingRun,
  onnx: Uint8Array | string,
  samples: readonly Sample[],
  next: () => void,
): Promise<{ results: EvaluatedImage[]; medianMs: number }> {
  const session = await openSession(onnx, run.training.threads);
  if (typeof onnx !== 'string') releaseArray(onnx);
  try {
    return await detectInSession(run, session, samples, next);
  } finally {
    await session.release();
  }
}

/** Runs an exported file on images. @param next - called after each image. */
export async function detectInSession(
  run: TrainingRun,
  session: Session,
  samples: readonly Sample[],
  next: () => void = () => {},
): Promise<{ results: EvaluatedImage[]; medianMs: number }> {
  const times: number[] = [];
  const results: EvaluatedImage[] = [];
  for (const sample of samples) {
    const { found, ms } = await detect(session, run.prepared.pixels(sample), run);
    times.push(ms);
    results.push({ truth: sample.boxes, found: aboveMinScore(found) });
    next();
  }
  return { results, medianMs: times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0 };
}

async function timeModel(
  run: TrainingRun,
  onnx: Uint8Array,
  heldOut: readonly Sample[],
): Promise<NonNullable<Measurements['alternative']>> {
  const bytes = onnx.byteLength;
  const { medianMs } = await detectAll(run, onnx, heldOut.slice(0, timedImages), () => {});
  return { bytes, medianMs };
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
/** Distance of each box to the most similar one of the other list. @param most - larger distances are missing boxes. */
export function compareDetections(
  trained: readonly Detection[],
  delivered: readonly Detection[],
  most: number = tolerance,
): Comparison {
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
    if (nearest > most) result.missing++;
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

/** Images with the detections of the trained detector. */
export interface Reference {
  samples: readonly Sample[];
  found: readonly (readonly Detection[])[];
}
/** Runs the trained head on the features of the frozen networks. */
export async function runTrainedDetector(run: TrainingRun, trained: TrainedModel): Promise<Reference> {
  const { training, prepared } = run;
  const samples = [...prepared.validation, ...prepared.test, ...prepared.train].slice(0, comparedImages);
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
  return { samples, found };
}

/**
 * Compares the exported file with the trained detector, and throws if they differ. The sessions of both are not open at
 * the same time: together they need 60 MB more than a training step.
 *
 * @returns fullest: the compared image with the most boxes.
 */
async function compareOnnx(
  run: TrainingRun,
  { samples, found: byHead }: Reference,
  onnx: string,
): Promise<{ maxDifference: number; fullest: ComparedImage | undefined }> {
  const { training, prepared } = run;
  const delivered = await openSession(onnx, training.threads);
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

/** Compares on one image, several times for the latency. */
async function compareTflite(
  run: TrainingRun,
  { sample, found }: ComparedImage,
  tflite: Uint8Array,
): Promise<{ maxDifference: number; ms: number }> {
  await using session = await openTflite(tflite, run.training.signal);
  const { boxes, ms } = await runTflite(run, session, Array<Sample>(timedRuns).fill(sample));
  const one = boxes[0] ?? [];
  const both = [compareDetections(found, one), compareDetections(one, found)];
  for (const compared of both) requireSame(compared, 'delivered .tflite file');
  return { maxDifference: Math.max(...both.map((compared) => compared.maxDifference)), ms };
}

/** The same as `detectInSession` for a .tflite file. */
export async function detectByTflite(
  run: TrainingRun,
  session: TfliteSession,
  samples: readonly Sample[],
): Promise<{ results: EvaluatedImage[]; medianMs: number }> {
  const { boxes, ms } = await runTflite(run, session, samples);
  return {
    results: samples.map((sample, i) => ({ truth: sample.boxes, found: aboveMinScore(boxes[i] ?? []) })),
    medianMs: ms,
  };
}

/** Boxes of each image, and the median time. */
async function runTflite(
  { prepared, training }: TrainingRun,
  session: TfliteSession,
  samples: readonly Sample[],
): Promise<{ boxes: Detection[][]; ms: number }> {
  const boxes: Detection[][] = [];
  const times: number[] = [];
  for (const sample of samples) {
    training.signal.throwIfAborted();
    const { outputs, ms } = await session.run(prepared.pixels(sample));
    const { location, category, score } = outputs;
    if (!location || !category || !score) throw new Error('the .tflite file lacks an output');
    boxes.push(boxesOf(location, category, score));
    times.push(ms);
  }
  return { boxes, ms: times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0 };
}
