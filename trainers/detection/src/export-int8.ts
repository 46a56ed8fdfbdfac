/** The INT8 form of a detector, measured on the held-out images. The head and its rescoring stay float32. */
import { calibrationSamples, exportInt8, sampled } from '@platform/trainer-engine/int8/export';
import type { Int8Result, MeasuredInt8 } from '@platform/trainer-engine/int8/export';
import type { ConvolutionForm } from '@platform/trainer-engine/int8/plan';
import type { EvaluatedImage } from './average-precision.ts';
import { countBoxes } from './dataset.ts';
import { scoreOf } from './evaluation.ts';
import { exportOnnx, exportTflite } from './export.ts';
import type { ExportOptions } from './export.ts';
import type { Detector } from './feature-maps.ts';
import type { Network } from './head.ts';
import { detectByTflite, detectInSession } from './measure.ts';
import type { Measurements } from './measure.ts';
import type { Sample } from './split.ts';
import type { TrainedModel } from './train-model.ts';
import type { TrainingRun } from './training-run.ts';

/** Convolutions of CenterNet with fewer weights stay float32: its first ones, and together 0.2 MB. */
const fewWeights = 4096;

/**
 * EfficientNet computes with int8. CenterNet, which locates, loses 4 points of mAP50 and 19 of mAP75 with inner numbers of
 * int8, so the weights of its large convolutions alone are int8. The head stays as it is trained.
 */
function formIn({ layers, finderLayers }: Detector, value: number): ConvolutionForm {
  const layer = layers[value - 1];
  if (layer?.is !== 'conv') return 'float32';
  if (value > finderLayers) return 'int8';
  return layer.depthwise || layer.weights.length < fewWeights ? 'float32' : 'weights';
}

/** Most images that the TensorFlow Lite form runs on: LiteRT takes about twice as long as ONNX Runtime with two threads. */
const maxTfliteImages = 100;

export interface MeasuredDetector {
  network: Network;
  ports: ExportOptions;
  measured: Measurements;
  trained: Pick<TrainedModel, 'chosen' | 'detector'>;
  /** Start of the job. */
  started: number;
}

export function exportInt8Detector(
  run: TrainingRun,
  { network, ports, measured, trained, started }: MeasuredDetector,
): Promise<Int8Result> {
  const { training, prepared, recipe } = run;
  const { heldOut } = measured;
  const labels = prepared.labels.length;
  const float32 = measured.evaluated.get(trained.chosen) ?? [];
  /** @param drawn - positions of the images among the held-out ones. */
  const measureOn = async (
    drawn: readonly number[],
    detectAll: (samples: readonly Sample[]) => Promise<{ results: EvaluatedImage[]; medianMs: number }>,
  ): Promise<MeasuredInt8> => {
    const samples = drawn.flatMap((i) => heldOut[i] ?? []);
    const score = scoreOf(
      drawn.flatMap((i) => float32[i] ?? []),
      labels,
    ).map50;
    const { results, medianMs } = await detectAll(samples);
    const reference = { metric: 'map50' as const, score, cases: countBoxes(samples) };
    const images = samples.length;
    return { score: scoreOf(results, labels).map50, float32: reference, images, medianMs, maxDifference: null };
  };
  return exportInt8(training, started, {
    layers: network.layers,
    side: recipe.side,
    formOf: (value) => formIn(trained.detector, value),
    images: calibrationSamples(prepared.train, training.job.seed).map((sample) => () => prepared.pixels(sample)),
    float32: { metric: 'map50', score: scoreOf(float32, labels).map50, cases: countBoxes(heldOut) },
    onnx: (plan) => exportOnnx(network, ports, plan),
    measureOnnx: (session) => measureOn([...heldOut.keys()], (samples) => detectInSession(run, session, samples)),
    measureTflite: (session) =>
      measureOn(sampled(heldOut.length, maxTfliteImages, training.job.seed), (samples) =>
        detectByTflite(run, session, samples),
      ),
    tflite: training.job.framework === 'onnx' ? undefined : (plan) => exportTflite(network, ports, plan),
  });
}
