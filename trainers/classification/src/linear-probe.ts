/** The linear probe: softmax or logistic regression on pooled features. */
import type { OutputKind } from './network.ts';

export interface LinearHead {
  /** [classes, size], row-major. */
  weights: Float32Array;
  bias: Float32Array;
}
export interface ProbeRows {
  features: readonly Float32Array[];
  /** Target of each class, per row. */
  targets: readonly (readonly number[])[];
  /** One weight per row, or one per row and class; mean about 1. */
  weights: readonly (readonly number[])[];
}
export interface ProbeOptions {
  output?: OutputKind;
  l2?: number;
  steps?: number;
  learningRate?: number;
  signal?: AbortSignal;
}

interface Standardized {
  rows: readonly Float32Array[];
  mean: Float64Array;
  inverse: Float64Array;
}
function standardize(features: readonly Float32Array[], size: number): Standardized {
  const n = features.length;
  const mean = new Float64Array(size);
  const inverse = new Float64Array(size);
  for (const row of features) for (let d = 0; d < size; d++) mean[d] = (mean[d] ?? 0) + (row[d] ?? 0) / n;
  for (const row of features) {
    for (let d = 0; d < size; d++) inverse[d] = (inverse[d] ?? 0) + ((row[d] ?? 0) - (mean[d] ?? 0)) ** 2 / n;
  }
  for (let d = 0; d < size; d++) inverse[d] = 1 / Math.sqrt((inverse[d] ?? 0) + 1e-4);
  // A common scale keeps the dot products near 1 for any number of features.
  const scale = 1 / Math.sqrt(size);
  const rows = features.map((row) => row.map((x, d) => (x - (mean[d] ?? 0)) * (inverse[d] ?? 0) * scale));
  return { rows, mean, inverse };
}

function dot(a: Float32Array, start: number, b: Float32Array): number {
  let sum = 0;
  for (let d = 0; d < b.length; d++) sum += (a[start + d] ?? 0) * (b[d] ?? 0);
  return sum;
}

function activate(z: Float64Array, output: OutputKind): void {
  if (output === 'sigmoid') {
    for (let k = 0; k < z.length; k++) z[k] = 1 / (1 + Math.exp(-(z[k] ?? 0)));
    return;
  }
  let max = -Infinity;
  for (const x of z) max = Math.max(max, x);
  let sum = 0;
  for (let k = 0; k < z.length; k++) {
    const e = Math.exp((z[k] ?? 0) - max);
    z[k] = e;
    sum += e;
  }
  for (let k = 0; k < z.length; k++) z[k] = (z[k] ?? 0) / sum;
}

class FullBatchAdam {
  readonly #first: Float32Array;
  readonly #second: Float32Array;
  constructor(size: number) {
    this.#first = new Float32Array(size);
    this.#second = new Float32Array(size);
  }
  step(values: Float32Array, gradient: Float32Array, rate: number, t: number): void {
    const correct1 = 1 - 0.9 ** t;
    const correct2 = 1 - 0.999 ** t;
    for (let i = 0; i < values.length; i++) {
      const d = gradient[i] ?? 0;
      const m = 0.9 * (this.#first[i] ?? 0) + 0.1 * d;
      const v = 0.999 * (this.#second[i] ?? 0) + 0.001 * d * d;
      this.#first[i] = m;
      this.#second[i] = v;
      values[i] = (values[i] ?? 0) - (rate * (m / correct1)) / (Math.sqrt(v / correct2) + 1e-8);
    }
  }
}

/**
 * Full-batch Adam on standardized features. The result includes the standardization, so the head accepts raw features.
 * Yields to the event loop between steps.
 */
export async function trainLinearProbe(
  { features, targets, weights: rowWeights }: ProbeRows,
  classes: number,
  { output = 'softmax', l2 = 1e-3, steps = 150, learningRate = 0.02, signal }: ProbeOptions = {},
): Promise<LinearHead> {
  const size = features[0]?.length ?? 0;
  const n = features.length;
  const { rows, mean, inverse } = standardize(features, size);
  const weights = new Float32Array(classes * size);
  const bias = new Float32Array(classes);
  const dWeights = new Float32Array(weights.length);
  const dBias = new Float32Array(classes);
  const p = new Float64Array(classes);
  const adam = { weights: new FullBatchAdam(weights.length), bias: new FullBatchAdam(classes) };
  for (let t = 1; t <= steps; t++) {
    signal?.throwIfAborted();
    for (let i = 0; i < weights.length; i++) dWeights[i] = l2 * (weights[i] ?? 0);
    dBias.fill(0);
    for (const [s, row] of rows.entries()) {
      for (let k = 0; k < classes; k++) p[k] = (bias[k] ?? 0) + dot(weights, k * size, row);
      activate(p, output);
      const target = targets[s] ?? [];
      const weight = rowWeights[s] ?? [];
      for (let k = 0; k < classes; k++) {
        const error = (((p[k] ?? 0) - (target[k] ?? 0)) * (weight[k % weight.length] ?? 1)) / n;
        dBias[k] = (dBias[k] ?? 0) + error;
        const start = k * size;
        for (let d = 0; d < size; d++) dWeights[start + d] = (dWeights[start + d] ?? 0) + error * (row[d] ?? 0);
      }
    }
    adam.weights.step(weights, dWeights, learningRate * 10, t);
    adam.bias.step(bias, dBias, learningRate, t);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const scale = 1 / Math.sqrt(size);
  for (let k = 0; k < classes; k++) {
    for (let d = 0; d < size; d++) {
      const folded = (weights[k * size + d] ?? 0) * (inverse[d] ?? 0) * scale;
      weights[k * size + d] = folded;
      bias[k] = (bias[k] ?? 0) - folded * (mean[d] ?? 0);
    }
  }
  return { weights, bias };
}

/** Class probabilities for one row of raw features. */
export function predict(
  { weights, bias }: LinearHead,
  features: Float32Array,
  output: OutputKind = 'softmax',
): Float64Array {
  const z = Float64Array.from(bias, (b, k) => b + dot(weights, k * features.length, features));
  activate(z, output);
  return z;
}
