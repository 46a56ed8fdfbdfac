/** The linear probe: softmax or logistic regression on pooled features. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import { openSession } from '@platform/trainer-engine/runtime';
import { parameterFeeds } from './looks.ts';
import { weightColumns } from './network.ts';
import type { OutputKind } from './network.ts';

export interface LinearHead {
  /** [classes, size], row by row. */
  weights: Float32Array;
  bias: Float32Array;
}
export interface ProbeRows {
  features: readonly Float32Array[];
  /** Per row the wanted output of each class. */
  targets: readonly (readonly number[])[];
  /** Per row one weight, or one per class; mean about 1. */
  weights: readonly (readonly number[])[];
}
export interface ProbeOptions {
  output?: OutputKind;
  l2?: number;
  steps?: number;
  learningRate?: number;
  threads?: number;
  signal?: AbortSignal;
}

interface Standardised {
  /** [N,size], row by row. */
  rows: Float32Array;
  mean: Float64Array;
  /** One over the spread of each feature and the root of their number: products are near 1, however many there are. */
  inverse: Float64Array;
}
function standardise(features: readonly Float32Array[], size: number): Standardised {
  const n = features.length;
  const mean = new Float64Array(size);
  const inverse = new Float64Array(size);
  for (const row of features) for (let d = 0; d < size; d++) mean[d] = (mean[d] ?? 0) + (row[d] ?? 0) / n;
  for (const row of features) {
    for (let d = 0; d < size; d++) inverse[d] = (inverse[d] ?? 0) + ((row[d] ?? 0) - (mean[d] ?? 0)) ** 2 / n;
  }
  for (let d = 0; d < size; d++) inverse[d] = 1 / Math.sqrt(((inverse[d] ?? 0) + 1e-4) * size);
  const rows = new Float32Array(n * size);
  for (const [s, row] of features.entries()) {
    for (let d = 0; d < size; d++) rows[s * size + d] = ((row[d] ?? 0) - (mean[d] ?? 0)) * (inverse[d] ?? 0);
  }
  return { rows, mean, inverse };
}

/**
 * Full-batch Adam on standardised features; the standardisation is folded into the result, so that the head takes raw
 * features. Gives way to other events between steps.
 */
export async function trainProbe(
  { features, targets, weights: rowWeights }: ProbeRows,
  classes: number,
  { output = 'softmax', l2 = 1e-3, steps = 150, learningRate = 0.02, threads = 1, signal }: ProbeOptions = {},
): Promise<LinearHead> {
  const size = features[0]?.length ?? 0;
  const n = features.length;
  const columns = weightColumns(output, classes);
  const { rows, mean, inverse } = standardise(features, size);
  const tape = new Tape();
  const inputs = {
    x: tape.input('features', [n, size]),
    wanted: tape.input('targets', [n, classes]),
    counts: tape.input('weights', [n, columns]),
  };
  const weights = new Float32Array(classes * size);
  const bias = new Float32Array(classes);
  const w = tape.parameter('W', weights, [classes, size]);
  const b = tape.parameter('B', bias, [classes]);
  const logits = tape.dense(inputs.x, w, b);
  if (output === 'softmax') tape.softmaxCrossEntropy(logits, inputs.wanted, inputs.counts);
  else tape.sigmoidCrossEntropy(logits, inputs.wanted, inputs.counts);
  const session = await openSession(tape.finish(['loss']), threads);
  try {
    const feeds = {
      ...parameterFeeds(tape.parameters),
      features: { data: rows, dims: [n, size] },
      targets: { data: Float32Array.from(targets.flat()), dims: [n, classes] },
      weights: { data: Float32Array.from(rowWeights.flat()), dims: [n, columns] },
    };
    const only = (name: string, values: Float32Array, shape: readonly number[]) => new Map([[name, { values, shape }]]);
    const slow = { adam: new Adam(), parameters: only('B', bias, b.shape) };
    const fast = { adam: new Adam(), parameters: only('W', weights, w.shape) };
    for (let step = 0; step < steps; step++) {
      signal?.throwIfAborted();
      const results = await session.run(feeds);
      // The loss is the mean over the columns, too: here each label counts in full.
      const dWeights = results('d_W').map((d, i) => d * columns + l2 * (weights[i] ?? 0));
      fast.adam.step(fast.parameters, () => dWeights, learningRate * 10);
      slow.adam.step(slow.parameters, () => results('d_B'), learningRate);
    }
  } finally {
    await session.release();
  }
  for (let k = 0; k < classes; k++) {
    for (let d = 0; d < size; d++) {
      const folded = (weights[k * size + d] ?? 0) * (inverse[d] ?? 0);
      weights[k * size + d] = folded;
      bias[k] = (bias[k] ?? 0) - folded * (mean[d] ?? 0);
    }
  }
  return { weights, bias };
}
