/** Fits the rescoring: logistic regression per label on the boxes of training images. */
import { setImmediate } from 'node:timers/promises';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Detection } from './average-precision.ts';
import { iou } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';
import type { CellMap } from './feature-maps.ts';
import { poolBox, pooledSize, regionScales } from './rescoring.ts';
import type { Rescoring } from './rescoring.ts';

export interface BoxSample {
  /** From `poolBox`. */
  pooled: Float32Array;
  /** The label that the box shows, and how well it fits: 0 to 1. Other labels have the target 0. */
  label: number;
  fit: number;
}

/** A detection with this IoU or less shows nothing; one with `fullIou` or more shows the object. */
const noIou = 0.3;
const fullIou = 0.8;
const rows = 32;
const learningRate = 1e-3;
const decay = 1e-3;
/** Epochs for few labels; with more labels the work stays about the same. */
const maxEpochs = 8;
const epochLabels = 40;
/** Steps between two checks of the abort signal. */
const stepsPerTurn = 32;
/** Smallest deviation of a feature, for constant ones. */
const minDeviation = 1e-3;

/** The label of the nearest true box, and how well the detection fits it. */
export function targetOf(found: Detection, truth: readonly LabelledBox[]): Omit<BoxSample, 'pooled'> {
  let [label, most] = [found.label, 0];
  for (const box of truth) {
    const common = iou(found, box);
    if (common > most) [label, most] = [box.label, common];
  }
  return { label, fit: Math.min(1, Math.max(0, (most - noIou) / (fullIou - noIou))) };
}

/** The true boxes of an image, and its detections by their IoU with the nearest true box. */
export function boxSamples(
  cells: readonly CellMap[],
  truth: readonly LabelledBox[],
  found: readonly Detection[],
): BoxSample[] {
  const ofTruth = truth.map((box): BoxSample => ({ pooled: poolBox(cells, box), label: box.label, fit: 1 }));
  const ofFound = found.map((one): BoxSample => ({ pooled: poolBox(cells, one), ...targetOf(one, truth) }));
  return [...ofTruth, ...ofFound];
}

/** Standardizes the samples in place. */
function standardize(samples: readonly BoxSample[]): { means: Float64Array; deviations: Float64Array } {
  const size = samples[0]?.pooled.length ?? 0;
  const means = new Float64Array(size);
  const squares = new Float64Array(size);
  for (const { pooled } of samples) {
    for (let i = 0; i < size; i++) {
      const x = pooled[i] ?? 0;
      means[i] = (means[i] ?? 0) + x / samples.length;
      squares[i] = (squares[i] ?? 0) + x ** 2 / samples.length;
    }
  }
  const deviations = squares.map((square, i) =>
    Math.max(minDeviation, Math.sqrt(Math.max(0, square - (means[i] ?? 0) ** 2))),
  );
  for (const { pooled } of samples) {
    for (let i = 0; i < size; i++) pooled[i] = ((pooled[i] ?? 0) - (means[i] ?? 0)) / (deviations[i] ?? 1);
  }
  return { means, deviations };
}

/** The regression of one label, with Adam. The last weight is the bias. */
class LabelRegression {
  readonly weights: Float64Array;
  readonly #gradient: Float64Array;
  readonly #first: Float64Array;
  readonly #second: Float64Array;
  readonly #label: number;
  constructor(label: number, size: number) {
    this.#label = label;
    this.weights = new Float64Array(size + 1);
    this.#gradient = new Float64Array(size + 1);
    this.#first = new Float64Array(size + 1);
    this.#second = new Float64Array(size + 1);
  }
  /** @param number - of the step, from 1. */
  step(batch: readonly BoxSample[], number: number, rate: number): void {
    const [weights, gradient] = [this.weights, this.#gradient];
    const size = weights.length - 1;
    for (let i = 0; i < size; i++) gradient[i] = decay * (weights[i] ?? 0);
    gradient[size] = 0;
    for (const { pooled, label, fit } of batch) {
      let logit = weights[size] ?? 0;
      for (let i = 0; i < size; i++) logit += (weights[i] ?? 0) * (pooled[i] ?? 0);
      const target = label === this.#label ? fit : 0;
      const error = (1 / (1 + Math.exp(-logit)) - target) / batch.length;
      for (let i = 0; i < size; i++) gradient[i] = (gradient[i] ?? 0) + error * (pooled[i] ?? 0);
      gradient[size] = (gradient[size] ?? 0) + error;
    }
    const [correct1, correct2] = [1 / (1 - 0.9 ** number), 1 / (1 - 0.99 ** number)];
    const [first, second] = [this.#first, this.#second];
    for (let i = 0; i <= size; i++) {
      const slope = gradient[i] ?? 0;
      const mean = 0.9 * (first[i] ?? 0) + 0.1 * slope;
      const square = 0.99 * (second[i] ?? 0) + 0.01 * slope ** 2;
      first[i] = mean;
      second[i] = square;
      weights[i] = (weights[i] ?? 0) - (rate * correct1 * mean) / (Math.sqrt(correct2 * square) + 1e-8);
    }
  }
}

/** The regressions of all labels, for features that are standardized. */
export interface Regressions {
  /** One row per label; the last weight is the bias. */
  weights: readonly Float64Array[];
  means: Float64Array;
  deviations: Float64Array;
}
/** Changes the samples. */
export async function fitRegressions(
  samples: readonly BoxSample[],
  labels: number,
  seed: number,
  signal: AbortSignal,
): Promise<Regressions> {
  const { means, deviations } = standardize(samples);
  const random = seeded('rescoring', seed);
  const regressions = Array.from({ length: labels }, (_, label) => new LabelRegression(label, means.length));
  const epochs = Math.min(maxEpochs, Math.max(1, Math.round(epochLabels / labels)));
  const steps = epochs * Math.ceil(samples.length / rows);
  let number = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = shuffled(samples, random);
    for (let from = 0; from < order.length; from += rows) {
      if (number++ % stepsPerTurn === 0) await setImmediate();
      signal.throwIfAborted();
      const rate = learningRate * 0.5 * (1 + Math.cos((Math.PI * number) / steps));
      const batch = order.slice(from, from + rows);
      for (const one of regressions) one.step(batch, number, rate);
    }
  }
  return { weights: regressions.map(({ weights }) => weights), means, deviations };
}

/** Changes the samples. @param maps - those of the samples' cells. */
export async function fitRescoring(
  maps: readonly Pick<CellMap, 'channels'>[],
  ...fit: Parameters<typeof fitRegressions>
): Promise<Rescoring> {
  return rescoringOf(maps, await fitRegressions(...fit));
}

/** Weights and biases for features that are not standardized. */
function rescoringOf(
  maps: readonly Pick<CellMap, 'channels'>[],
  { weights: regressions, means, deviations }: Regressions,
): Rescoring {
  const labels = regressions.length;
  const weights = maps.map(({ channels }) => new Float32Array(regionScales.length * labels * channels));
  const bias = new Float32Array(labels);
  for (const [label, regression] of regressions.entries()) {
    let [at, constant] = [0, regression[pooledSize(maps)] ?? 0];
    for (const values of weights) {
      const channels = values.length / (regionScales.length * labels);
      for (const region of regionScales.keys()) {
        for (let i = 0; i < channels; i++, at++) {
          const weight = (regression[at] ?? 0) / (deviations[at] ?? 1);
          values[(region * labels + label) * channels + i] = weight;
          constant -= weight * (means[at] ?? 0);
        }
      }
    }
    bias[label] = constant;
  }
  return { weights, bias };
}
