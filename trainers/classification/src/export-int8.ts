/** The INT8 form of a classifier, measured on the held-out images. */
import { calibrationSamples, exportInt8 } from '@platform/trainer-engine/int8/export';
import type { ComparedTflite, Int8Result, MeasuredInt8 } from '@platform/trainer-engine/int8/export';
import type { Session } from '@platform/trainer-engine/runtime';
import { exportOnnx, exportTflite, layersOf } from './classifier.ts';
import type { Classifier } from './classifier.ts';
import { compareOutputs, runOnnxModel, runTfliteModel } from './exported-model.ts';
import type { Measurements } from './measure.ts';
import { multiLabelScoreOf } from './multi-score.ts';
import { scoreOf } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import type { Stage, TrainingRun } from './train-model.ts';

/** Images that the TensorFlow Lite form runs on: the interpreter here is slow. */
const tfliteImages = 2;
/**
 * Largest difference of a probability between the forms. Runtimes round differently: LiteRT and ONNX Runtime differed by
 * at most 0.023 on 160 images.
 */
const tolerance = 0.05;

export interface MeasuredClassifier {
  classifier: Classifier;
  measured: Measurements;
  chosen: Stage;
  /** Those of the chosen stage; undefined with one label per image. */
  thresholds: readonly number[] | undefined;
  /** Start of the job. */
  started: number;
}

export function exportInt8Classifier(
  { training, prepared }: TrainingRun,
  { classifier, measured, chosen, thresholds, started }: MeasuredClassifier,
): Promise<Int8Result> {
  const { clock, signal } = training;
  const { heldOut } = measured;
  const { side, output } = classifier;
  const float32 = measured.evaluated.get(chosen) ?? [];
  const score = (evaluated: readonly EvaluatedImage[]): number =>
    thresholds ? multiLabelScoreOf(evaluated, thresholds).micro_f1 : scoreOf(evaluated, prepared.labels).accuracy;
  const pixels = (i: number): Uint8Array => {
    const sample = heldOut[i];
    return sample ? prepared.pixels(sample) : new Uint8Array();
  };
  const measure = async (session: Session): Promise<MeasuredInt8> => {
    const how = { clock, signal, hasUnlike: false };
    const { probabilities, medianMs } = await runOnnxModel(session, side, heldOut.length, pixels, how);
    const found = heldOut.map(({ classes }, i) => ({
      classes,
      probabilities: probabilities[i] ?? new Float32Array(),
    }));
    const trained = float32.map((one) => Float64Array.from(one.probabilities));
    const { maxDifference } = compareOutputs(trained, probabilities, output);
    const compareTflite = async (file: Uint8Array): Promise<ComparedTflite> => {
      const images = Math.min(tfliteImages, heldOut.length);
      const { probabilities: others } = await runTfliteModel(file, images, pixels, how);
      const expected = probabilities.slice(0, images).map((one) => Float64Array.from(one));
      const { maxDifference: difference } = compareOutputs(expected, others, output);
      return { images, maxDifference: difference, isSame: difference <= tolerance };
    };
    return { score: score(found), medianMs, maxDifference, compareTflite };
  };
  return exportInt8(training, started, {
    layers: layersOf(classifier),
    side,
    formOf: (value) => (classifier.lastValues.has(value) ? 'float32' : 'int8'),
    images: calibrationSamples(prepared.train, training.job.seed).map((sample) => () => prepared.pixels(sample)),
    float32: { metric: thresholds ? 'micro_f1' : 'accuracy', score: score(float32), cases: heldOut.length },
    onnx: (plan) => exportOnnx(classifier, plan),
    measure,
    tflite: training.job.framework === 'onnx' ? undefined : (plan) => exportTflite(classifier, plan),
  });
}
