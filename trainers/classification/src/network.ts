/** Builds the training graph and the inference graph from the pretrained network. */
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import {
  addRows,
  averageRows,
  frozenDepthwiseOfRows,
  planesOf,
  productOfRows,
  rowsOf,
} from '@platform/trainer-engine/autodiff/rows';
import type { Rows } from '@platform/trainer-engine/autodiff/rows';
import { reshape } from '@platform/trainer-engine/autodiff/operations';
import { parameterFeeds } from '@platform/trainer-engine/autodiff/feeds';
import { shape4, Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Trial } from '@platform/trainer-engine/device';
import { inputsOf, needed, sizesOf } from '@platform/trainer-engine/network/layers';
import type { Layer, LayerOf } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTraining } from '@platform/trainer-engine/network/training';
import { FLOAT } from '@platform/trainer-engine/onnx/graph';
import type { Graph } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import { headOf } from './head.ts';
import type { Head, OutputKind, Weights } from './head.ts';

export interface Geometry {
  /** Images per run; the graphs have static shapes. */
  batch: number;
  /** Width and height of the input in pixels. */
  side: number;
  classes: number;
}

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
  /** Numbers of the values that the head reads. */
  wanted: readonly number[];
}
interface BodyValues {
  /** [N,C,H,W] */
  planes: Values;
  /** With channels side by side. */
  rows: ReadonlyMap<number, Rows>;
}
/** The values of the network that the head reads, each in one of the two layouts. */
function body({ tape, backbone: { layers }, image, freezeUntil, wanted }: Body): BodyValues {
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
  const parts = splitBatch(tape, image).map((part) => {
    const values = emitFrozen(tape, frozen, valuesNeededBy(frozen, [...inParts, ...rest], wanted), part);
    emitTraining(tape, inParts, values, { parametersOf });
    return values;
  });
  const joined: Values = new Map(
    valuesNeededBy([...frozen, ...inParts], rest, wanted).map((value) => [
      value,
      tape.concat(parts.map((values) => valueAt(values, value))),
    ]),
  );
  return { planes: joined, rows: trainInRows(tape, rest, joined, parametersOf) };
}

/** Emits the layers with channels side by side. @returns their outputs. */
function trainInRows(
  tape: Tape,
  layers: readonly Layer[],
  from: Values,
  parametersOf: (layer: LayerOf<'conv'>) => [Value, Value],
): ReadonlyMap<number, Rows> {
  const inputs = new Set(layers.flatMap(inputsOf));
  const values = new Map(
    [...from].filter(([index]) => inputs.has(index)).map(([index, value]) => [index, rowsOf(tape, value)]),
  );
  for (const layer of layers) {
    const [x, y] = inputsOf(layer).map((input) => valueAt(values, input));
    if (layer.is === 'add' && x && y) values.set(layer.output, addRows(tape, x, y));
    else if (layer.is === 'conv' && x) {
      const [w, b] = parametersOf(layer);
      const options = { stride: layer.stride, relu6: layer.relu === 6 };
      const convolve = layer.depthwise ? frozenDepthwiseOfRows : productOfRows;
      values.set(layer.output, convolve(tape, x, w, b, options));
    } else throw new Error(`a layer "${layer.is}" cannot be trained here`);
  }
  for (const index of from.keys()) values.delete(index);
  return values;
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

/** Numbers of the values of the first layers that the remaining layers or the head use. */
function valuesNeededBy(before: readonly Layer[], after: readonly Layer[], wanted: readonly number[]): number[] {
  const used = [...after.flatMap(inputsOf), ...wanted];
  return [...new Set(used)].filter((value) => value <= before.length);
}

/** Emits the frozen layers; returns the values `kept`. */
function emitFrozen(tape: Tape, frozen: readonly Layer[], kept: readonly number[], image: Value): Values {
  const [batch, channels, height, width] = shape4(image);
  const names = new Map([[0, image.name]]);
  emitOnnx(tape.graph, frozen, names);
  const sizes = sizesOf(frozen, { channels, height, width });
  return new Map(
    kept.map((value) => {
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
  const { logits } = withHead(tape, backbone, { batch, side, classes }, freezeUntil, output);
  if (output === 'softmax') tape.softmaxCrossEntropy(logits, targets, weights);
  else tape.sigmoidCrossEntropy(logits, targets, weights);
  return { model: tape.finish(['loss']), tape };
}

/** Network and head: the features that the probe is trained on, [N,C,H,W], and the logits [N,K]. */
function withHead(
  tape: Tape,
  backbone: Backbone,
  { batch, side, classes }: Geometry,
  freezeUntil: number,
  output: OutputKind,
): { features: Value[]; logits: Value } {
  const image = { name: toNchw(tape.graph, 'image'), shape: [batch, 3, side, side], trained: false };
  const head = headOf(backbone, output, { side, classes });
  const own = new Set(head.layers.map((layer) => layer.output));
  const wanted = [...new Set(head.layers.flatMap(inputsOf))].filter((value) => !own.has(value));
  const { planes, rows } = body({ tape, backbone, image, freezeUntil, wanted });
  const values: Values = new Map(planes);
  for (const layer of head.layers) {
    if (layer.is === 'mean') {
      const inRows = rows.get(layer.input);
      const [n, c] = inRows?.size ?? [0, 0];
      if (inRows) values.set(layer.output, reshape(tape, averageRows(tape, inRows), [n, c, 1, 1]));
    } else {
      for (const input of inputsOf(layer)) {
        const inRows = rows.get(input);
        if (inRows && !values.has(input)) values.set(input, planesOf(tape, inRows));
      }
    }
  }
  const logits = emitHead(tape, head, values);
  return { features: head.features.map(({ value }) => valueAt(values, value)), logits };
}

/** Emits the layers of the head whose outputs are missing, with its parameters. @returns the logits [N,K]. */
export function emitHead(tape: Tape, head: Head, values: Map<number, Value>): Value {
  const parameters = new Map(
    head.parameters.map(({ name, shape }) => [
      name,
      tape.parameter(name, new Float32Array(shape[0] * shape[1]), shape),
    ]),
  );
  const classes = head.parameters[0]?.shape[0] ?? 0;
  const bias = tape.parameter('B', new Float32Array(classes), [classes]);
  const none = tape.frozen(new Float32Array(classes), [classes]);
  const parametersOf = (layer: LayerOf<'conv'>): [Value, Value] => {
    const at = head.features.findIndex(({ value }) => value === layer.input);
    const name = head.parameters[at]?.name ?? '';
    const weights = parameters.get(name);
    if (!weights) throw new Error(`a layer of the head reads ${layer.input}, not a feature`);
    return [weights, at === 0 ? bias : none];
  };
  const missing = needed(head.layers, [head.logits], values);
  emitTraining(tape, missing, values, { parametersOf });
  const [n, k] = shape4(valueAt(values, head.logits));
  return reshape(tape, valueAt(values, head.logits), [n, k]);
}

/** Name of the output with feature number `i` of the head. */
export const featureName = (i: number): string => `feature${i}`;

/**
 * Input: image [N,S,S,3] float32 0..255, the same parameters. Output: the features of the head, logits [N,K]. No
 * backward pass.
 */
export function inferenceGraph(
  backbone: Backbone,
  geometry: Geometry,
  freezeUntil: number,
  output: OutputKind,
): Buffer {
  const tape = new Tape();
  tape.input('image', [geometry.batch, geometry.side, geometry.side, 3]);
  const { features, logits } = withHead(tape, backbone, geometry, freezeUntil, output);
  const { graph } = tape;
  for (const [i, { name }] of features.entries()) graph.op('Identity', [name], {}, featureName(i));
  graph.op('Identity', [logits.name], {}, 'logits');
  for (const name of [...features.map((_, i) => featureName(i)), 'logits']) graph.outputs.push({ name, type: FLOAT });
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
  const feeds = {
    ...parameterFeeds(tape),
    image: { data: image, dims: [batch, side, side, 3] },
    targets: { data: targets, dims: [batch, classes] },
    weights: { data: new Float32Array(batch).fill(1), dims: [batch, 1] },
  };
  return { model, feeds };
}
