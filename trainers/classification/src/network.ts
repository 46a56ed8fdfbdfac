/** The graphs made of the pretrained network: one that learns, one that only looks. */
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { shape4, Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Trial } from '@platform/trainer-engine/device';
import { inputsOf, sizesOf } from '@platform/trainer-engine/network/layers';
import type { Layer, LayerOf } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT } from '@platform/trainer-engine/onnx/graph';
import type { Graph } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import type { Feed } from '@platform/trainer-engine/runtime';

export interface Geometry {
  /** Pictures per run; the graphs have fixed shapes. */
  batch: number;
  /** Pixels of both edges. */
  side: number;
  classes: number;
}
/** softmax: one label is right. sigmoid: each label is there or not. */
export type OutputKind = 'softmax' | 'sigmoid';
/** Name → values, for example w31, b31, W, B. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** NHWC → NCHW. */
export const planes = (graph: Graph, image: string): string => graph.op('Transpose', [image], { perm: [0, 3, 1, 2] });

interface Body {
  tape: Tape;
  backbone: Backbone;
  image: Value;
  /** Convolutions before this number keep their pretrained weights. Depthwise ones always do: they hold 6 % of the
   * weights and cost most of the backward pass. */
  freezeUntil: number;
}
/** → [N,features], the mean over all places. */
function features({ tape, backbone: { layers }, image, freezeUntil }: Body): Value {
  const numbers = new Map(layers.filter((layer) => layer.is === 'conv').map((layer, number) => [layer, number]));
  const learns = (layer: Layer): boolean =>
    layer.is === 'conv' && !layer.depthwise && (numbers.get(layer) ?? 0) >= freezeUntil;
  const found = layers.findIndex(learns);
  const frozen = layers.slice(0, found < 0 ? layers.length : found);
  const rest = layers.slice(frozen.length);
  const values = frozenValues(tape, frozen, rest, image);
  const at = (index: number): Value => {
    const value = values.get(index);
    if (!value) throw new Error(`value ${index} is not computed yet`);
    return value;
  };
  const convolved = (layer: LayerOf<'conv'>): Value => {
    const { dims, stride, depthwise, relu } = layer;
    const number = numbers.get(layer);
    const parameter = (key: string, pretrained: Float32Array, shape: readonly number[]): Value =>
      learns(layer) ? tape.parameter(key, pretrained, shape) : tape.frozen(pretrained, shape);
    const w = parameter(`w${number}`, layer.weights, dims);
    const b = parameter(`b${number}`, layer.bias, [layer.bias.length]);
    const y = tape.conv(at(layer.input), w, b, { stride, depthwise });
    return relu === 6 ? tape.relu6(y) : y;
  };
  for (const layer of rest) {
    if (layer.is === 'conv') values.set(layer.output, convolved(layer));
    else if (layer.is === 'add') values.set(layer.output, tape.add(at(layer.inputs[0]), at(layer.inputs[1])));
    else throw new Error(`a layer "${layer.is}" cannot be trained here`);
  }
  return tape.averagePool(at(layers.length));
}

/** Pictures that the frozen layers look at together: the first layers' values are large, and of two they stay in the cache. */
const together = 2;

/** Of the layers that learn nothing, the values that the rest needs. */
function frozenValues(tape: Tape, frozen: readonly Layer[], rest: readonly Layer[], image: Value): Map<number, Value> {
  const { graph } = tape;
  const [batch, channels, height, width] = shape4(image);
  const ends = rest.length > 0 ? rest.flatMap(inputsOf) : [frozen.length];
  const wanted = [...new Set(ends)].filter((value) => value <= frozen.length);
  const parts = batch % together === 0 ? batch / together : 1;
  const emitted = Array.from({ length: parts }, (_, part) => {
    const [from, to] = [(part * batch) / parts, ((part + 1) * batch) / parts];
    const own =
      parts === 1 ? image.name : graph.op('Slice', [image.name, graph.ints([from]), graph.ints([to]), graph.ints([0])]);
    const names = new Map([[0, own]]);
    emitOnnx(graph, frozen, names);
    return names;
  });
  const sizes = sizesOf(frozen, { channels, height, width });
  const joined = wanted.map((value): [number, Value] => {
    const names = emitted.map((one) => one.get(value) ?? '');
    const name = parts === 1 ? (names[0] ?? '') : graph.op('Concat', names, { axis: 0 });
    const size = sizes.get(value) ?? { channels: 0, height: 0, width: 0 };
    return [value, { name, shape: [batch, size.channels, size.height, size.width], trained: false }];
  });
  return new Map(joined);
}

/** By the names that learners give them. */
export function pretrainedWeights({ layers }: Backbone): Weights {
  const convolutions = layers.filter((layer) => layer.is === 'conv');
  return new Map(
    convolutions.flatMap(({ weights, bias }, number): [string, Float32Array][] => [
      [`w${number}`, weights],
      [`b${number}`, bias],
    ]),
  );
}

export interface Learner {
  model: Buffer;
  tape: Tape;
}
/** Columns of the loss's weights. */
export const weightColumns = (output: OutputKind, classes: number): number => (output === 'softmax' ? 1 : classes);

/**
 * In: image [N,S,S,3] float32 0..255, targets [N,K], weights [N,1] or, with sigmoid, [N,K], parameters.
 * Out: loss, d_<parameter>. What learns are the backbone's own arrays: a copy would take as much memory again.
 */
export function learnerGraph(
  backbone: Backbone,
  { batch, side, classes }: Geometry,
  freezeUntil: number,
  output: OutputKind,
): Learner {
  const tape = new Tape();
  tape.input('image', [batch, side, side, 3]);
  const targets = tape.input('targets', [batch, classes]);
  const weights = tape.input('weights', [batch, weightColumns(output, classes)]);
  const image = { name: planes(tape.graph, 'image'), shape: [batch, 3, side, side], trained: false };
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

/** In: image [N,S,S,3] float32 0..255, the same parameters. Out: pooled [N,features], logits [N,K]. No backward pass. */
export function viewerGraph(backbone: Backbone, { batch, side, classes }: Geometry, freezeUntil: number): Buffer {
  const tape = new Tape();
  tape.input('image', [batch, side, side, 3]);
  const image = { name: planes(tape.graph, 'image'), shape: [batch, 3, side, side], trained: false };
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

/** One step with made-up pictures and head, the same each time: what two devices are compared by. */
export function trialStep(backbone: Backbone, geometry: Geometry, freezeUntil: number): Trial {
  const { batch, side, classes } = geometry;
  const { model, tape } = learnerGraph(backbone, geometry, freezeUntil, 'softmax');
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
