/**
 * The last layers of a classifier, after the pretrained network: one description for the probe, for fine-tuning and for
 * both files.
 *
 * One label per image: a linear layer on the means of the last layer.
 *
 * Several labels: an object that fills a ninth of the image is a ninth of each mean. So each label is also looked for
 * in every window of 1 × 1 to 9 × 9 cells; a log-mean-exp turns the windows into one number.
 */
import { sizesOf } from '@platform/trainer-engine/network/layers';
import type { ConvLayer, Layer } from '@platform/trainer-engine/network/layers';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';

/** softmax: single-label classification. sigmoid: multi-label classification. */
export type OutputKind = 'softmax' | 'sigmoid';
/** Name → values, for example w31, b31, W, B. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** Sides of the windows in cells, and how much the highest windows count. */
const windowSizes = [1, 2, 3, 5, 7, 9];
const sharpness = 4;
/** Pixels of a cell's side. */
const cellPixels = 32;

/** A value of the network that the probe computes once per image. */
export interface Feature {
  value: number;
  /** Channels by where they come from: each part has the same weight in the probe. */
  parts: readonly number[];
  /** Positions per edge. */
  edge: number;
}
export interface HeadParameter {
  name: string;
  shape: readonly [number, number, 1, 1];
}
export interface Head {
  layers: readonly Layer[];
  /** Inputs of the first layers with weights. */
  features: readonly Feature[];
  /** Number of the value [K,1,1]. */
  logits: number;
  /** Weights by feature, in the same order; the bias is `B`. */
  parameters: readonly HeadParameter[];
}

type HeadBackbone = Pick<Backbone, 'layers' | 'taps' | 'features'>;

/** @param weights - by name; missing ones are zero. `T`: the temperature, by which the logits are divided. */
export function headOf(
  backbone: HeadBackbone,
  output: OutputKind,
  { side, classes }: { side: number; classes: number },
  weights: Weights = new Map(),
): Head {
  const linear = (name: string, input: number, channels: number, value: number): ConvLayer & { output: number } => ({
    is: 'conv',
    depthwise: false,
    stride: 1,
    relu: false,
    input,
    output: value,
    dims: [classes, channels, 1, 1],
    weights: weights.get(name) ?? new Float32Array(classes * channels),
    // The log-mean-exp passes a bias through unchanged, so one bias is enough.
    bias: name === 'W' ? (weights.get('B') ?? new Float32Array(classes)) : new Float32Array(classes),
  });
  const temperature = weights.get('T')?.[0] ?? 1;
  return output === 'softmax'
    ? meanHead(backbone, linear, classes, temperature)
    : windowHead(backbone, linear, { side, classes }, temperature);
}

type Linear = (name: string, input: number, channels: number, value: number) => ConvLayer & { output: number };

/** Channels of the values at stride 16 and 32. */
function stageChannels({ layers, taps }: HeadBackbone): [number, number] {
  const sizes = sizesOf(layers, { channels: 3, height: cellPixels, width: cellPixels });
  const of = (value: number): number => sizes.get(value)?.channels ?? 0;
  return [of(taps[16]), of(taps[32])];
}

function meanHead(
  { layers: { length: last }, features }: HeadBackbone,
  linear: Linear,
  classes: number,
  temperature: number,
): Head {
  const [mean, logits] = [last + 1, last + 3];
  return {
    layers: [
      { is: 'mean', input: last, output: mean },
      linear('W', mean, features, last + 2),
      { is: 'scale', input: last + 2, output: logits, factor: 1 / temperature },
    ],
    features: [{ value: mean, parts: [features], edge: 1 }],
    logits,
    parameters: [{ name: 'W', shape: [classes, features, 1, 1] }],
  };
}

function windowHead(
  backbone: HeadBackbone,
  linear: Linear,
  { side, classes }: { side: number; classes: number },
  temperature: number,
): Head {
  const {
    layers: { length: last },
    taps,
    features,
  } = backbone;
  const edge = side / cellPixels;
  const sizes = windowSizes.filter((size) => size <= edge);
  const channels = stageChannels(backbone).reduce((a, b) => a + b);
  const [whole, cells, logits] = [last + 1, last + 3, last + 8];
  return {
    layers: [
      { is: 'mean', input: last, output: whole },
      { is: 'average-pool', input: taps[16], output: last + 2, size: 2 },
      { is: 'concat', inputs: [last + 2, taps[32]], output: cells },
      linear('W', whole, features, last + 4),
      linear('V', cells, channels, last + 5),
      { is: 'window-evidence', input: last + 5, output: last + 6, edge, sizes, sharpness },
      { is: 'add', inputs: [last + 4, last + 6], output: last + 7 },
      { is: 'scale', input: last + 7, output: logits, factor: 0.5 / temperature },
    ],
    features: [
      { value: whole, parts: [features], edge: 1 },
      { value: cells, parts: [channels], edge },
    ],
    logits,
    parameters: [
      { name: 'W', shape: [classes, features, 1, 1] },
      { name: 'V', shape: [classes, channels, 1, 1] },
    ],
  };
}

export const sizeOf = ({ parts, edge }: Feature): number => parts.reduce((a, b) => a + b) * edge ** 2;
