/** The linear probe: trains the head on features of the frozen network, which are computed once. */
import { parameterFeeds } from '@platform/trainer-engine/autodiff/feeds';
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Feeds } from '@platform/trainer-engine/runtime';
import { sizeOf } from './head.ts';
import type { Feature, Head, OutputKind, Weights } from './head.ts';
import { emitHead, featureName, weightColumns } from './network.ts';

/** Rows per run of the graph. Larger ones cost memory and are not faster. */
const batch = 50;

/** Features of many images, in memory once: in the batches that the graph reads. */
export class ProbeFeatures {
  readonly count: number;
  /** Batches by feature of the head. */
  readonly batches: readonly (readonly Float32Array[])[];
  readonly #features: readonly Feature[];
  constructor({ features }: Head, count: number) {
    this.count = count;
    this.#features = features;
    this.batches = features.map((one) =>
      Array.from({ length: Math.ceil(count / batch) }, () => new Float32Array(batch * sizeOf(one))),
    );
  }
  /** @param values - one array per feature of the head. */
  set(row: number, values: readonly Float32Array[]): void {
    for (const [i, one] of this.#features.entries()) {
      const into = this.batches[i]?.[Math.floor(row / batch)];
      const from = values[i];
      if (!into || from?.length !== sizeOf(one)) throw new RangeError(`row ${row} does not fit`);
      into.set(from, (row % batch) * from.length);
    }
  }
}
export interface ProbeRows {
  /** Training standardizes them in place. */
  features: ProbeFeatures;
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
  threads?: number;
  signal?: AbortSignal;
}

interface Standardization {
  mean: Float64Array;
  /** Factor that gives each part of the feature the same variance in total. */
  factor: Float64Array;
}

/** Calls `visit` with the position of the first value of each channel of each row. */
function eachChannel(
  batches: readonly Float32Array[],
  rows: number,
  { parts, edge }: Feature,
  visit: (values: Float32Array, start: number, channel: number) => void,
): void {
  const channels = parts.reduce((a, b) => a + b);
  for (let row = 0; row < rows; row++) {
    const values = batches[Math.floor(row / batch)] ?? new Float32Array();
    const start = (row % batch) * channels * edge ** 2;
    for (let channel = 0; channel < channels; channel++) visit(values, start + channel * edge ** 2, channel);
  }
}

/** A common scale keeps the logits near 1 for any number of features. */
function standardize(batches: readonly Float32Array[], rows: number, feature: Feature): Standardization {
  const positions = feature.edge ** 2;
  const scales = feature.parts.flatMap((size) => Array<number>(size).fill(1 / Math.sqrt(size * feature.parts.length)));
  const mean = new Float64Array(scales.length);
  const factor = new Float64Array(scales.length);
  const count = rows * positions;
  eachChannel(batches, rows, feature, (values, start, channel) => {
    let sum = 0;
    for (let i = start; i < start + positions; i++) sum += values[i] ?? 0;
    mean[channel] = (mean[channel] ?? 0) + sum / count;
  });
  eachChannel(batches, rows, feature, (values, start, channel) => {
    let sum = 0;
    for (let i = start; i < start + positions; i++) sum += ((values[i] ?? 0) - (mean[channel] ?? 0)) ** 2;
    factor[channel] = (factor[channel] ?? 0) + sum / count;
  });
  for (const [channel, scale] of scales.entries()) factor[channel] = scale / Math.sqrt((factor[channel] ?? 0) + 1e-4);
  eachChannel(batches, rows, feature, (values, start, channel) => {
    const [shift, by] = [mean[channel] ?? 0, factor[channel] ?? 0];
    for (let i = start; i < start + positions; i++) values[i] = ((values[i] ?? 0) - shift) * by;
  });
  return { mean, factor };
}

class FullBatchAdam {
  readonly #first: Float32Array;
  readonly #second: Float32Array;
  constructor(size: number) {
    this.#first = new Float32Array(size);
    this.#second = new Float32Array(size);
  }
  step(values: Float32Array, gradient: Float64Array, rate: number, t: number): void {
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

function probeGraph(head: Head, output: OutputKind): { model: Buffer; tape: Tape } {
  const tape = new Tape();
  const classes = head.parameters[0]?.shape[0] ?? 0;
  const values = new Map(
    head.features.map(({ value, parts, edge }, i): [number, Value] => {
      const channels = parts.reduce((a, b) => a + b);
      return [value, tape.input(featureName(i), [batch, channels, edge, edge])];
    }),
  );
  const targets = tape.input('targets', [batch, classes]);
  const weights = tape.input('weights', [batch, weightColumns(output, classes)]);
  const logits = emitHead(tape, head, values);
  if (output === 'softmax') tape.softmaxCrossEntropy(logits, targets, weights);
  else tape.sigmoidCrossEntropy(logits, targets, weights);
  return { model: tape.finish(['loss']), tape };
}

/** Rows that fill up the last batch have the weight 0. */
function feedsOf({ features, targets, weights }: ProbeRows, head: Head, columns: number): Feeds[] {
  const classes = head.parameters[0]?.shape[0] ?? 0;
  return Array.from({ length: Math.ceil(features.count / batch) }, (_, at) => {
    const rowTargets = new Float32Array(batch * classes);
    const rowWeights = new Float32Array(batch * columns);
    for (let row = 0; row < Math.min(batch, features.count - at * batch); row++) {
      rowTargets.set(targets[at * batch + row] ?? [], row * classes);
      rowWeights.set(weights[at * batch + row] ?? [], row * columns);
    }
    const inputs = head.features.map(({ parts, edge }, i) => {
      const data = features.batches[i]?.[at] ?? new Float32Array();
      const dims = [batch, parts.reduce((a, b) => a + b), edge, edge];
      return [featureName(i), { data, dims }] as const;
    });
    return {
      ...Object.fromEntries(inputs),
      targets: { data: rowTargets, dims: [batch, classes] },
      weights: { data: rowWeights, dims: [batch, columns] },
    };
  });
}

/** Full-batch Adam on standardized features. The result includes the standardization. */
export async function trainLinearProbe(
  rows: ProbeRows,
  head: Head,
  { output = 'softmax', l2 = 1e-3, steps = 150, learningRate = 0.02, threads = 1, signal }: ProbeOptions = {},
): Promise<Weights> {
  const { features } = rows;
  const standards = head.features.map((one, i) => standardize(features.batches[i] ?? [], features.count, one));
  const { model, tape } = probeGraph(head, output);
  const session = await openSession(model, threads);
  const columns = weightColumns(output, head.parameters[0]?.shape[0] ?? 0);
  // The loss is a mean over a batch and, with several labels, over the labels.
  const share = (batch * columns) / features.count;
  const feeds = feedsOf(rows, head, columns);
  const parameters = parameterFeeds(tape);
  const adam = new Map([...tape.parameters].map(([name, { values }]) => [name, new FullBatchAdam(values.length)]));
  for (let t = 1; t <= steps; t++) {
    const gradients = new Map(
      [...tape.parameters].map(([name, { values }]) => [
        name,
        Float64Array.from(values, (value) => (name === 'B' ? 0 : l2 * value)),
      ]),
    );
    for (const one of feeds) {
      signal?.throwIfAborted();
      const results = await session.run({ ...one, ...parameters });
      for (const [name, sum] of gradients) {
        for (const [i, d] of results(`d_${name}`).entries()) sum[i] = (sum[i] ?? 0) + d * share;
      }
    }
    for (const [name, { values }] of tape.parameters) {
      const rate = name === 'B' ? learningRate : learningRate * 10;
      adam.get(name)?.step(values, gradients.get(name) ?? new Float64Array(), rate, t);
    }
  }
  await session.release();
  return unstandardized(tape, head, standards);
}

/** The same head for features as they are. */
function unstandardized(tape: Tape, head: Head, standards: readonly Standardization[]): Weights {
  const valuesOf = (name: string): Float32Array => tape.parameters.get(name)?.values ?? new Float32Array();
  const bias = Float64Array.from(valuesOf('B'));
  for (const [i, { name, shape }] of head.parameters.entries()) {
    const values = valuesOf(name);
    const channels = shape[1];
    const { mean, factor } = standards[i] ?? { mean: new Float64Array(), factor: new Float64Array() };
    for (let at = 0; at < values.length; at++) {
      const channel = at % channels;
      const folded = (values[at] ?? 0) * (factor[channel] ?? 0);
      values[at] = folded;
      const k = Math.floor(at / channels);
      bias[k] = (bias[k] ?? 0) - folded * (mean[channel] ?? 0);
    }
  }
  valuesOf('B').set(bias);
  return new Map([...tape.parameters].map(([name, { values }]) => [name, values]));
}
