/** The graphs made of the pretrained network: one that learns, one that only looks. */
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Trial } from '@platform/trainer-engine/device';
import type { LayerOf } from '@platform/trainer-engine/network/layers';
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
  /** Convolutions before this number keep their pretrained weights. Depthwise ones always do: they hold 5 % of the
   * weights and cost most of the backward pass. */
  freezeUntil: number;
}
/** → [N,features], the mean over all places. */
function features({ tape, backbone, image, freezeUntil }: Body): Value {
  const values: Value[] = [image];
  const at = (index: number): Value => {
    const value = values[index];
    if (!value) throw new Error(`value ${index} is not computed yet`);
    return value;
  };
  let number = 0;
  const convolved = (layer: LayerOf<'conv'>): Value => {
    const { dims, stride, depthwise, relu } = layer;
    const learns = number >= freezeUntil && !depthwise;
    const parameter = (key: string, pretrained: Float32Array, shape: readonly number[]): Value =>
      learns ? tape.parameter(key, Float32Array.from(pretrained), shape) : tape.frozen(pretrained, shape);
    const w = parameter(`w${number}`, layer.weights, dims);
    const b = parameter(`b${number}`, layer.bias, [layer.bias.length]);
    number++;
    const y = tape.conv(at(layer.input), w, b, { stride, depthwise });
    return relu === 6 ? tape.relu6(y) : y;
  };
  for (const layer of backbone.layers) {
    if (layer.is === 'conv') values[layer.output] = convolved(layer);
    else if (layer.is === 'add') values[layer.output] = tape.add(at(layer.inputs[0]), at(layer.inputs[1]));
    else if (layer.is === 'scale') values[layer.output] = scaled(tape, at(layer.input), layer);
    else throw new Error(`a layer "${layer.is}" cannot be trained here`);
  }
  return tape.averagePool(at(values.length - 1));
}
/** Of the picture: no gradient flows through it. */
function scaled({ graph }: Tape, x: Value, { factor, offset = 0 }: LayerOf<'scale'>): Value {
  const name = graph.op('Add', [graph.op('Mul', [x.name, graph.scalar(factor)]), graph.scalar(offset)]);
  return { name, shape: x.shape, trained: false };
}

export interface Learner {
  model: Buffer;
  tape: Tape;
}
/** Columns of the loss's weights. */
export const weightColumns = (output: OutputKind, classes: number): number => (output === 'softmax' ? 1 : classes);

/**
 * In: image [N,S,S,3] float32 0..255, targets [N,K], weights [N,1] or, with sigmoid, [N,K], parameters.
 * Out: loss, d_<parameter>.
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
