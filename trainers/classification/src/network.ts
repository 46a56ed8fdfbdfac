/** Builds the training graph and the inference graph from the pretrained network. */
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import {
  addRows,
  averageRows,
  frozenDepthwiseOfRows,
  productOfRows,
  rowsOf,
} from '@platform/trainer-engine/autodiff/rows';
import type { Rows } from '@platform/trainer-engine/autodiff/rows';
import { shape4, Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Trial } from '@platform/trainer-engine/device';
import { inputsOf, sizesOf } from '@platform/trainer-engine/network/layers';
import type { Layer, LayerOf } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTraining } from '@platform/trainer-engine/network/training';
import { FLOAT } from '@platform/trainer-engine/onnx/graph';
import type { Graph } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import type { Feed } from '@platform/trainer-engine/runtime';

export interface Geometry {
  /** Images per run; the graphs have static shapes. */
  batch: number;
  /** Width and height of the input in pixels. */
  side: number;
  classes: number;
}
/** softmax: single-label classification. sigmoid: multi-label classification. */
export type OutputKind = 'softmax' | 'sigmoid';
/** Name → values, for example w31, b31, W, B. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** NHWC → NCHW. */
export const toNchw = (graph: Graph, image: string): string => graph.op('Transpose', [image], { perm: [0, 3, 1, 2] });

interface Body {
  tape: Tape;
  backbone: Backbone;
  image: Value;
  /**
   * Convolutions before this number keep their pretrained weights. Depthwise ones always do: they hold 6 % of the
   * weights and cost most of the backward pass.
   */
  freezeUntil: number;
}
/** → [N,features], averaged over height and width. */
function features({ tape, backbone: { layers }, image, freezeUntil }: Body): Value {
  const numbers = new Map(layers.filter((layer) => layer.is === 'conv').map((layer, number) => [layer, number]));
  const learns = (layer: Layer): boolean =>
    layer.is === 'conv' && !layer.depthwise && (numbers.get(layer) ?? 0) >= freezeUntil;
  const found = layers.findIndex(learns);
  const frozen = layers.slice(0, found < 0 ? layers.length : found);
  const last = lastPerImageLayer(layers, image);
  const inParts = layers.slice(frozen.length, last + 1);
  const rest = layers.slice(frozen.length + inParts.length);
  const parameters = new Map<string, Value>();
  const parameter = (layer: Layer, key: string, pretrained: Float32Array, shape: readonly number[]): Value => {
    const made = parameters.get(key);
    if (made) return made;
    const value = learns(layer) ? tape.parameter(key, pretrained, shape) : tape.frozen(pretrained, shape);
    parameters.set(key, value);
    return value;
  };
  const parametersOf = (layer: LayerOf<'conv'>): [Value, Value] => {
    const number = numbers.get(layer);
    const [w, b] = [`w${number}`, `b${number}`];
    return [parameter(layer, w, layer.weights, layer.dims), parameter(layer, b, layer.bias, [layer.bias.length])];
  };
  const learnInRows = (some: readonly Layer[], from: Values): Rows => {
    const values = new Map([...from].map(([index, value]) => [index, rowsOf(tape, value)]));
    for (const layer of some) {
      const [x, y] = inputsOf(layer).map((input) => valueAt(values, input));
      if (layer.is === 'add' && x && y) values.set(layer.output, addRows(tape, x, y));
      else if (layer.is === 'conv' && x) {
        const [w, b] = parametersOf(layer);
        const options = { stride: layer.stride, relu6: layer.relu === 6 };
        const convolve = layer.depthwise ? frozenDepthwiseOfRows : productOfRows;
        values.set(layer.output, convolve(tape, x, w, b, options));
      } else throw new Error(`a layer "${layer.is}" cannot be trained here`);
    }
    return valueAt(values, layers.length);
  };
  const parts = splitBatch(tape, image).map((part) => {
    const values = emitFrozen(tape, frozen, [...inParts, ...rest], part);
    emitTraining(tape, inParts, values, { parametersOf });
    return values;
  });
  const wanted = valuesNeededBy([...frozen, ...inParts], rest);
  const joined: Values = new Map(
    wanted.map((value) => [value, tape.concat(parts.map((values) => valueAt(values, value)))]),
  );
  return rest.length === 0
    ? tape.averagePool(valueAt(joined, layers.length))
    : averageRows(tape, learnInRows(rest, joined));
}

type Values = Map<number, Value>;
function valueAt<V>(values: ReadonlyMap<number, V>, index: number): V {
  const value = values.get(index);
  if (!value) throw new Error(`value ${index} is not computed yet`);
  return value;
}

/**
 * Minimum positions of a value for image-by-image processing: its data then stays in the CPU cache from node to node.
 */
const largeMap = 150;

/** Index of the last layer with a large output or with a kernel wider than 1×1 (not depthwise); −1: none. */
function lastPerImageLayer(layers: readonly Layer[], image: Value): number {
  const [, channels, height, width] = shape4(image);
  const sizes = sizesOf(layers, { channels, height, width });
  return layers.findLastIndex((layer) => {
    const size = sizes.get(layer.output);
    const isLarge = size !== undefined && size.height * size.width > largeMap;
    return isLarge || (layer.is === 'conv' && !layer.depthwise && layer.dims[2] > 1);
  });
}

/** Splits the batch into images: ONNX Runtime completes one part before it starts the next. */
function splitBatch({ graph }: Tape, image: Value): Value[] {
  const [batch, ...rest] = shape4(image);
  if (batch === 1) return [image];
  return Array.from({ length: batch }, (_, i) => {
    const range = [graph.ints([i]), graph.ints([i + 1]), graph.ints([0])];
    return { name: graph.op('Slice', [image.name, ...range]), shape: [1, ...rest], trained: false };
  });
}

/** Numbers of the values of the first layers that the remaining layers use. */
function valuesNeededBy(before: readonly Layer[], after: readonly Layer[]): number[] {
  const ends = after.length > 0 ? after.flatMap(inputsOf) : [before.length];
  return [...new Set(ends)].filter((value) => value <= before.length);
}

/** Emits the frozen layers; returns the values that the remaining layers use. */
function emitFrozen(tape: Tape, frozen: readonly Layer[], rest: readonly Layer[], image: Value): Values {
  const [batch, channels, height, width] = shape4(image);
  const names = new Map([[0, image.name]]);
  emitOnnx(tape.graph, frozen, names);
  const sizes = sizesOf(frozen, { channels, height, width });
  return new Map(
    valuesNeededBy(frozen, rest).map((value) => {
      const size = sizes.get(value) ?? { channels: 0, height: 0, width: 0 };
      const shape = [batch, size.channels, size.height, size.width];
      return [value, { name: names.get(value) ?? '', shape, trained: false }];
    }),
  );
}

/** The pretrained weights by the parameter names of the training graph. */
export function pretrainedWeights({ layers }: Backbone): Weights {
  const convolutions = layers.filter((layer) => layer.is === 'conv');
  return new Map(
    convolutions.flatMap(({ weights, bias }, number): [string, Float32Array][] => [
      [`w${number}`, weights],
      [`b${number}`, bias],
    ]),
  );
}

export interface TrainingGraph {
  model: Buffer;
  tape: Tape;
}
/** Number of columns of the loss weights. */
export const weightColumns = (output: OutputKind, classes: number): number => (output === 'softmax' ? 1 : classes);

/**
 * Input: image [N,S,S,3] float32 0..255, targets [N,K], weights [N,1] or, with sigmoid, [N,K], parameters.
 * Output: loss, d_<parameter>. Training changes the backbone's own arrays: a copy would double the memory.
 */
export function trainingGraph(
  backbone: Backbone,
  { batch, side, classes }: Geometry,
  freezeUntil: number,
  output: OutputKind,
): TrainingGraph {
  const tape = new Tape();
  tape.input('image', [batch, side, side, 3]);
  const targets = tape.input('targets', [batch, classes]);
  const weights = tape.input('weights', [batch, weightColumns(output, classes)]);
  const image = { name: toNchw(tape.graph, 'image'), shape: [batch, 3, side, side], trained: false };
  const pooled = features({ tape, backbone, image, freezeUntil });
  const head = {
    w: tape.parameter('W', new Float32Array(classes * backbone.features), [classes, backbone.features]),
    b: tape.parameter('B', new Float32Array(classes), [classes]),
  };
  const logits = tape.dense(pooled, head.w, head.b);
  if (output === 'softmax') tape.softmaxCrossEntropy(logits, targets, weights);
  else tape.sigmoidCrossEntropy(logits, targets, weights);
  return { model: tape.finish(['loss']), tape };
}

/**
 * Input: image [N,S,S,3] float32 0..255, the same parameters. Output: pooled [N,features], logits [N,K]. No backward
 * pass.
 */
export function inferenceGraph(backbone: Backbone, { batch, side, classes }: Geometry, freezeUntil: number): Buffer {
  const tape = new Tape();
  tape.input('image', [batch, side, side, 3]);
  const image = { name: toNchw(tape.graph, 'image'), shape: [batch, 3, side, side], trained: false };
  const pooled = features({ tape, backbone, image, freezeUntil });
  const w = tape.parameter('W', new Float32Array(classes * backbone.features), [classes, backbone.features]);
  const b = tape.parameter('B', new Float32Array(classes), [classes]);
  const logits = tape.dense(pooled, w, b);
  const { graph } = tape;
  graph.op('Identity', [pooled.name], {}, 'pooled');
  graph.op('Identity', [logits.name], {}, 'logits');
  for (const name of ['pooled', 'logits']) graph.outputs.push({ name, type: FLOAT });
  return graph.encode();
}

/** One step with deterministic random images and head, to compare two devices. */
export function trialStep(backbone: Backbone, geometry: Geometry, freezeUntil: number): Trial {
  const { batch, side, classes } = geometry;
  const { model, tape } = trainingGraph(backbone, geometry, freezeUntil, 'softmax');
  const random = seeded('trial');
  const head = tape.parameters.get('W')?.values;
  head?.forEach((_, i) => (head[i] = (random() - 0.5) * 0.1));
  const image = Float32Array.from({ length: batch * side * side * 3 }, () => random() * 255);
  const targets = Float32Array.from({ length: batch * classes }, (_, i) => (i % classes === 0 ? 1 : 0));
  const feeds: Record<string, Feed> = {
    image: { data: image, dims: [batch, side, side, 3] },
    targets: { data: targets, dims: [batch, classes] },
    weights: { data: new Float32Array(batch).fill(1), dims: [batch, 1] },
  };
  for (const [name, { values, shape }] of tape.parameters) feeds[name] = { data: values, dims: shape };
  return { model, feeds };
}
