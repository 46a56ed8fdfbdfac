/** The INT8 form of a classifier, measured on the held-out images. */
import { calibrationSamples, exportInt8, sampled } from '@platform/trainer-engine/int8/export';
import type { MeasuredScore } from '@platform/trainer-engine/int8/decision';
import type { Int8Result, MeasuredInt8 } from '@platform/trainer-engine/int8/export';
import { exportOnnx, exportTflite, layersOf } from './classifier.ts';
import type { Classifier } from './classifier.ts';
import { compareOutputs, pixelsOf, runOnnxModel, runTfliteModel } from './exported-model.ts';
import type { TimedResults } from './exported-model.ts';
import type { Measurements } from './measure.ts';
import { multiLabelScoreOf } from './multi-score.ts';
import { scoreOf } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import type { Stage, TrainingRun } from './train-model.ts';

/** Most images that the TensorFlow Lite form runs on: LiteRT takes about five times as long as ONNX Runtime. */
const maxTfliteImages = 500;

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
  const how = { clock, signal, hasUnlike: false };
  const { heldOut } = measured;
  const { side, output } = classifier;
  const metric = thresholds ? 'micro_f1' : 'accuracy';
  const float32 = measured.evaluated.get(chosen) ?? [];
  const score = (evaluated: readonly EvaluatedImage[]): number =>
    thresholds ? multiLabelScoreOf(evaluated, thresholds).micro_f1 : scoreOf(evaluated, prepared.labels).accuracy;
  /** @param drawn - positions of the images among the held-out ones. */
  const measureOn = async (
    drawn: readonly number[],
    run: (count: number, pixels: (i: number) => Uint8Array) => Promise<TimedResults>,
  ): Promise<MeasuredInt8> => {
    const samples = drawn.flatMap((i) => heldOut[i] ?? []);
    const expected = drawn.flatMap((i) => float32[i] ?? []);
    const { probabilities, medianMs } = await run(samples.length, pixelsOf(prepared, samples));
    const found = samples.map(({ classes }, i) => ({ classes, probabilities: probabilities[i] ?? new Float32Array() }));
    const trained = expected.map((one) => Float64Array.from(one.probabilities));
    const { maxDifference } = compareOutputs(trained, probabilities, output);
    const reference: MeasuredScore = { metric, score: score(expected), cases: samples.length };
    return { score: score(found), float32: reference, images: samples.length, medianMs, maxDifference };
  };
  return exportInt8(training, started, {
    layers: layersOf(classifier),
    side,
    formOf: (value) => (classifier.lastValues.has(value) ? 'float32' : 'int8'),
    images: calibrationSamples(prepared.train, training.job.seed).map((sample) => () => prepared.pixels(sample)),
    float32: { metric, score: score(float32), cases: heldOut.length },
    onnx: (plan) => exportOnnx(classifier, plan),
    measureOnnx: (session) =>
      measureOn([...heldOut.keys()], (count, pixels) => runOnnxModel(session, side, count, pixels, how)),
    measureTflite: (session) =>
      measureOn(sampled(heldOut.length, maxTfliteImages, training.job.seed), (count, pixels) =>
        runTfliteModel(session, count, pixels, how),
      ),
    tflite: training.job.framework === 'onnx' ? undefined : (plan) => exportTflite(classifier, plan),
  });
}
