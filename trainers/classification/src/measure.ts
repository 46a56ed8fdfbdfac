/** Compares the exported files with the trained network, and evaluates every stage on the held-out images. */
import type { Measured } from '@platform/trainer-engine/report';
import { openSession } from '@platform/trainer-engine/runtime';
import { openTflite } from '@platform/trainer-engine/tflite/litert';
import {
  compareOutputs,
  pixelsOf,
  requireEqualUnlike,
  runOnnxModel,
  runTfliteModel,
  tolerance,
} from './exported-model.ts';
import type { ExportedResults, ModelBytes } from './exported-model.ts';
import type { Unlike } from './find-unlike.ts';
import type { Sample } from './load-images.ts';
import type { TrainedModel, TrainingRun, Stage } from './train-model.ts';
import { chooseThresholds } from './multi-score.ts';
import type { PreparedDataset } from './prepare.ts';
import type { EvaluatedImage } from './score.ts';

export interface Measurements extends Measured<Sample> {
  /** Results on the held-out images by stage; the exported ONNX file computes those of the chosen stage. */
  evaluated: ReadonlyMap<Stage, readonly EvaluatedImage[]>;
  /** Scores "unlike anything seen" of the held-out images by the ONNX file; empty with several labels. */
  unlike: readonly number[];
}

/** Minimum probability of each predicted label, by stage; undefined for single-label classification. */
export async function thresholdsByStage(
  trained: TrainedModel,
  { validation, labels }: PreparedDataset,
): Promise<ReadonlyMap<Stage, readonly number[]> | undefined> {
  if (trained.objective.output === 'softmax') return undefined;
  const thresholds = new Map<Stage, readonly number[]>();
  for (const stage of trained.weights.keys()) {
    thresholds.set(stage, chooseThresholds(await trained.evaluate(stage, validation), labels.length));
  }
  return thresholds;
}

/** Throws when an exported file and the trained network produce different results. */
export async function measure(
  { training: { clock, threads, signal }, recipe, prepared, progress }: TrainingRun,
  trained: TrainedModel,
  models: ModelBytes,
  unlike: Unlike | undefined,
): Promise<Measurements> {
  const started = clock.now();
  const heldOut = prepared.test.length > 0 ? prepared.test : prepared.validation;
  const checked = prepared.validation.length > 0 ? prepared.validation : heldOut;
  const session = await openSession(models.onnx, threads);
  const own = await trained.evaluate(trained.chosen, checked);
  const how = { clock, signal, hasUnlike: unlike !== undefined };
  const same = await runOnnxModel(session, recipe.side, checked.length, pixelsOf(prepared, checked), how);
  const { output } = trained.objective;
  const { maxDifference, differs } = compareOutputs(
    own.map(({ probabilities }) => Float64Array.from(probabilities)),
    same.probabilities,
    output,
  );
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the delivered model differs from the trained one by ${maxDifference}, more than ${tolerance}`);
  }
  if (checked === prepared.validation) requireEqualUnlike(unlike?.validation ?? [], same.unlike);
  const onDone = (share: number): void => progress.update('evaluate', share * 0.6);
  const results =
    checked === heldOut
      ? same
      : await runOnnxModel(session, recipe.side, heldOut.length, pixelsOf(prepared, heldOut), { ...how, onDone });
  await session.release();
  const tflite = models.tflite && (await checkTflite(models.tflite, same, pixelsOf(prepared, checked), output, how));
  const evaluated = new Map<Stage, readonly EvaluatedImage[]>();
  for (const stage of trained.weights.keys()) {
    const isExported = stage === trained.chosen;
    const byExport = (): EvaluatedImage[] =>
      heldOut.map(({ classes }, i) => ({ classes, probabilities: results.probabilities[i] ?? new Float32Array() }));
    evaluated.set(stage, isExported ? byExport() : await trained.evaluate(stage, heldOut));
  }
  progress.update('evaluate', 1);
  const seconds = (clock.now() - started) / 1000;
  const { medianMs } = results;
  const ofTflite = { tfliteDifference: tflite?.maxDifference, tfliteMs: tflite?.medianMs };
  return { heldOut, evaluated: evaluated, unlike: results.unlike, medianMs, maxDifference, ...ofTflite, seconds };
}

/** Images to check the .tflite file on. */
const tfliteImages = 20;

/** Maximum difference between the .tflite and the ONNX file, and the median time. */
async function checkTflite(
  model: Uint8Array,
  byOnnx: ExportedResults,
  pixels: (i: number) => Uint8Array,
  output: TrainedModel['objective']['output'],
  how: Parameters<typeof runTfliteModel>[3],
): Promise<{ maxDifference: number; medianMs: number }> {
  const expected = byOnnx.probabilities.slice(0, tfliteImages).map((one) => Float64Array.from(one));
  await using session = await openTflite(model, how.signal);
  const { probabilities: found, unlike, medianMs } = await runTfliteModel(session, expected.length, pixels, how);
  requireEqualUnlike(byOnnx.unlike.slice(0, tfliteImages), unlike);
  const { maxDifference, differs } = compareOutputs(expected, found, output);
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the .tflite file differs from the ONNX file by ${maxDifference}, more than ${tolerance}`);
  }
  return { maxDifference, medianMs };
}
