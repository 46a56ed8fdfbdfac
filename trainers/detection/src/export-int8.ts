/** The INT8 form of a detector, measured on the held-out images. The head and its rescoring stay float32. */
import { calibrationSamples, exportInt8 } from '@platform/trainer-engine/int8/export';
import type { ComparedTflite, Int8Result, MeasuredInt8 } from '@platform/trainer-engine/int8/export';
import type { ConvolutionForm } from '@platform/trainer-engine/int8/plan';
import type { Session } from '@platform/trainer-engine/runtime';
import { countBoxes } from './dataset.ts';
import { scoreOf } from './evaluation.ts';
import { exportOnnx, exportTflite } from './export.ts';
import type { ExportOptions } from './export.ts';
import type { Detector } from './feature-maps.ts';
import type { Network } from './head.ts';
import { compareDetections, detectByTflite, detectInSession } from './measure.ts';
import type { Comparison, Measurements } from './measure.ts';
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

/**
 * Largest difference of a coordinate (0..1) or score between the forms: runtimes round integer arithmetic differently.
 */
const tolerance = 0.05;
/** Share of the boxes that may be missing, at least one: rounding decides about boxes that nearly cover each other. */
const allowedMissingShare = 0.1;
const isAlike = ({ missing, compared }: Comparison): boolean => missing <= Math.max(1, allowedMissingShare * compared);

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
  const measure = async (session: Session): Promise<MeasuredInt8> => {
    const { results, medianMs } = await detectInSession(run, session, heldOut);
    const compareTflite = async (file: Uint8Array): Promise<ComparedTflite> => {
      const [fullest] = [...results.entries()].toSorted(([, a], [, b]) => b.found.length - a.found.length);
      const sample = heldOut[fullest?.[0] ?? 0];
      if (!fullest || !sample) return { images: 0, maxDifference: 0, isSame: true };
      const { boxes } = await detectByTflite(run, sample, file);
      const [, { found: expected }] = fullest;
      const both = [compareDetections(expected, boxes, tolerance), compareDetections(boxes, expected, tolerance)];
      const maxDifference = Math.max(...both.map((one) => one.maxDifference));
      return { images: 1, maxDifference, isSame: both.every(isAlike) };
    };
    return { score: scoreOf(results, labels).map50, medianMs, maxDifference: null, compareTflite };
  };
  return exportInt8(training, started, {
    layers: network.layers,
    side: recipe.side,
    formOf: (value) => formIn(trained.detector, value),
    images: calibrationSamples(prepared.train, training.job.seed).map((sample) => () => prepared.pixels(sample)),
    float32: { metric: 'map50', score: scoreOf(float32, labels).map50, cases: countBoxes(heldOut) },
    onnx: (plan) => exportOnnx(network, ports, plan),
    measure,
    tflite: training.job.framework === 'onnx' ? undefined : (plan) => exportTflite(network, ports, plan),
  });
}
