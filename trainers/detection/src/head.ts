/**
 * The trained part of the detector. Per cell of 4 × 4 px it predicts a heatmap: the probability that the cell is the
 * centre of an object of each label. The heatmap uses the neck, CenterNet's deep features and the features of the
 * second network. The head also corrects the pretrained distances to the edges of the box. The correction does not use
 * the second network, whose features contain no information about edges. A third output predicts the IoU of the box; a
 * score combines the heatmap and this quality.
 */
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { needed } from '@platform/trainer-engine/network/layers';
import type { Dims4, Layer, LayerOf } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTraining } from '@platform/trainer-engine/network/training';
import { FLOAT, UINT8 } from '@platform/trainer-engine/onnx/graph';
import { cellStride, neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import { seeded } from '@platform/trainer-engine/random';
import { heatmapLoss, overlapLoss } from './loss.ts';
import { dimsOf, featureMaps } from './feature-maps.ts';
import type { Detector, FeatureName } from './feature-maps.ts';
import { regionScales } from './rescoring.ts';
import type { Rescoring } from './rescoring.ts';

export interface HeadShape {
  /** Width and height of the image in pixels. */
  side: number;
  labels: number;
  hidden: number;
}
export type Weights = ReadonlyMap<string, Float32Array>;

/** Initial logit of a cell: a probability of 0.1. */
const priorLogit = -2.19;
/** Factors from the cells of the deep features to those of the parts, and from there to those of the neck. */
const upsamplingFactors = {
  deep: featureMaps.deep.stride / featureMaps.parts.stride,
  parts: featureMaps.parts.stride / cellStride,
};

/**
 * A 1×1 convolution of the head: output and input channels, scale of the initial weights, initial bias if it has one.
 */
interface Convolution {
  to: number;
  from: number;
  scale: number;
  bias?: number;
}
const convolutions = ({ labels, hidden }: HeadShape): Record<string, Convolution> => {
  const inner = (name: FeatureName, share: number): Convolution => {
    const from = featureMaps[name].channels;
    return { to: hidden, from, scale: share * Math.sqrt(1 / from) };
  };
  return {
    // Heatmap.
    inner: { ...inner('neck', 1), bias: 0 },
    seen: inner('neck', 1),
    around: inner('deep', 0.5),
    kind: inner('kinds', 0.5),
    part: inner('parts', 0.5),
    heat: { to: labels, from: hidden, scale: 0.03, bias: priorLogit },
    // Edges; before training the correction is 0.
    edge_inner: { ...inner('neck', 1), bias: 0 },
    edge_seen: inner('neck', 1),
    edge_around: inner('deep', 0.5),
    edge: { to: 4, from: neckChannels, scale: 0, bias: 0 },
    correction: { to: 4, from: hidden, scale: 0 },
    // Expected IoU of that box with the true one; before training 0.5.
    quality: { to: 1, from: hidden, scale: 0, bias: 0 },
    quality_seen: { to: 1, from: neckChannels, scale: 0 },
  };
};

/** Initial weights. */
export function initialWeights(shape: HeadShape, seed: number): Map<string, Float32Array> {
  const random = seeded('head', seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-9)) * Math.cos(2 * Math.PI * random());
  const weights = new Map<string, Float32Array>();
  for (const [name, { to, from, scale, bias }] of Object.entries(convolutions(shape))) {
    weights.set(
      name,
      Float32Array.from({ length: to * from }, () => (scale === 0 ? 0 : scale * normal())),
    );
    if (bias !== undefined) weights.set(`${name}.bias`, new Float32Array(to).fill(bias));
  }
  return weights;
}

/** The pretrained layers and the head; numbers of values. */
interface HeadNetwork {
  layers: readonly Layer[];
  /** Convolution of the head → name of its weights. */
  names: ReadonlyMap<Layer, string>;
  logits: number;
  /** Logits of the expected IoU of the box. */
  quality: number;
  /** Correction of the pretrained distances. */
  residual: number;
  /** heat [K, S/4, S/4] 0..1, and edges [4, S/4, S/4] in units of 16 px. */
  heat: number;
  edges: number;
}
type Unnumbered = Layer extends infer L ? (L extends Layer ? Omit<L, 'output'> : never) : never;

/** The single definition of the head: the training graph and the exported files use it. */
function headNetwork({ layers: pretrained, taps }: Detector, weights: Weights, shape: HeadShape): HeadNetwork {
  const layers: Layer[] = [...pretrained];
  const names = new Map<Layer, string>();
  const shapes = convolutions(shape);
  const add = (layer: Unnumbered): Layer => {
    const numbered: Layer = { ...layer, output: layers.length + 1 };
    layers.push(numbered);
    return numbered;
  };
  const conv = (input: number, name: string): number => {
    const { to, from } = shapes[name] ?? { to: 0, from: 0 };
    const dims: Dims4 = [to, from, 1, 1];
    const values = weights.get(name) ?? new Float32Array(to * from);
    const bias = weights.get(`${name}.bias`) ?? new Float32Array(to);
    const layer = add({ is: 'conv', input, depthwise: false, stride: 1, relu: false, dims, weights: values, bias });
    names.set(layer, name);
    return layer.output;
  };
  const sum = (a: number, b: number): number => add({ is: 'add', inputs: [a, b] }).output;
  const product = (a: number, b: number): number => add({ is: 'multiply', inputs: [a, b] }).output;
  const up = (input: number, factor: number): number => add({ is: 'upsample', input, factor, anchor: 'center' }).output;
  const sigmoid = (input: number): number => add({ is: 'sigmoid', input }).output;
  const hidden = (input: number): number => add({ is: 'dropout', input: add({ is: 'relu', input }).output }).output;

  const near = sum(conv(taps.neck, 'inner'), conv(taps.classView, 'seen'));
  const coarse = up(sum(conv(taps.deep, 'around'), conv(taps.kinds, 'kind')), upsamplingFactors.deep);
  const far = up(sum(coarse, conv(taps.parts, 'part')), upsamplingFactors.parts);
  const inner = hidden(sum(near, far));
  const edgeNear = sum(conv(taps.neck, 'edge_inner'), conv(taps.boxView, 'edge_seen'));
  const edgeFar = up(conv(taps.deep, 'edge_around'), upsamplingFactors.deep * upsamplingFactors.parts);
  const edgeInner = hidden(sum(edgeNear, edgeFar));
  const quality = sum(conv(edgeInner, 'quality'), conv(taps.boxView, 'quality_seen'));
  const fit = sigmoid(quality);
  const squaredFit = product(fit, fit);
  const logits = conv(inner, 'heat');
  const heat = product(sigmoid(logits), squaredFit);
  const correction = conv(edgeInner, 'correction');
  const residual = sum(conv(taps.boxView, 'edge'), correction);
  const edges = sum(taps.distances, residual);
  return { layers, names, logits, quality, residual, heat, edges };
}

/** Emits the pretrained layers that depend on the neck only: CenterNet's head features and distances. */
function emitPretrained(tape: Tape, { layers, taps }: Detector, neck: Value): Map<number, Value> {
  const [batch = 0, , h = 0] = neck.shape;
  const names = new Map([[taps.neck, neck.name]]);
  const wanted = [taps.classView, taps.boxView, taps.distances];
  const onNeck = needed(layers, wanted).filter(({ output }) => wanted.includes(output));
  emitOnnx(tape.graph, onNeck, names);
  const channelsOf = (tap: number): number => (tap === taps.distances ? 4 : neckChannels);
  return new Map(
    wanted.map((tap) => [tap, { name: names.get(tap) ?? '', shape: [batch, channelsOf(tap), h, h], trained: false }]),
  );
}

export interface HeadGraph {
  tape: Tape;
  model: Buffer;
}
export interface HeadGraphOptions {
  batch: number;
  /** Quantization step of the neck, per channel; absent: the neck is float32. */
  neckSteps?: Float32Array;
  /** Weight of the box loss relative to the heatmap loss. */
  overlapWeight: number;
  mode: 'train' | 'evaluate';
}
/**
 * Inputs: the feature maps (neck as uint8 with `neckSteps`, or as float32), heatmap [N,K,h,h], distances [N,4,h,h],
 * mask [N,1,h,h], inverse_count [1] and the parameters. Output: `loss`.
 * Mode `train` also reads dropout_mask [N,hidden,1,1], the factors of the inner channels, and outputs the gradients
 * `d_<parameter>`. Mode `evaluate` also outputs `scores` [N,K,h,h] 0..1 and `edges` [N,4,h,h] in units of 16 px.
 */
export function headGraph(
  detector: Detector,
  weights: Weights,
  shape: HeadShape,
  { batch, neckSteps, overlapWeight, mode }: HeadGraphOptions,
): HeadGraph {
  const tape = new Tape();
  const g = tape.graph;
  const { side } = shape;
  const h = side / cellStride;
  const feature = (name: FeatureName): Value => tape.input(name, dimsOf(name, batch, side));
  const storedNeck = (steps: Float32Array): Value => {
    const dims = dimsOf('neck', batch, side);
    g.inputs.push({ name: 'neck', type: UINT8, dims });
    const values = g.op('Mul', [g.op('Cast', ['neck'], { to: FLOAT }), g.constant(steps, [neckChannels, 1, 1])]);
    return { name: values, shape: dims, trained: false };
  };
  const { taps } = detector;
  const neck = neckSteps ? storedNeck(neckSteps) : feature('neck');
  const values = new Map<number, Value>([
    [taps.neck, neck],
    ...(['deep', 'kinds', 'parts'] as const).map((name): [number, Value] => [taps[name], feature(name)]),
  ]);
  const dropoutMask = mode === 'train' ? { dropoutMask: tape.input('dropout_mask', [batch, shape.hidden, 1, 1]) } : {};
  for (const [tap, value] of emitPretrained(tape, detector, neck)) values.set(tap, value);
  const network = headNetwork(detector, weights, shape);
  const layers = network.layers.slice(detector.layers.length);
  const parametersOf = (layer: LayerOf<'conv'>): readonly [Value, Value] => {
    const name = network.names.get(layer) ?? '';
    const w = tape.parameter(name, Float32Array.from(layer.weights), layer.dims);
    const dims = [layer.bias.length];
    const b = weights.has(`${name}.bias`)
      ? tape.parameter(`${name}.bias`, Float32Array.from(layer.bias), dims)
      : tape.frozen(layer.bias, dims);
    return [w, b];
  };
  const results = [network.logits, network.quality, network.residual];
  emitTraining(tape, needed(layers, results), values, { parametersOf, ...dropoutMask });
  const valueOf = (value: number): Value => {
    const found = values.get(value);
    if (!found) throw new Error(`the head lacks value ${value}`);
    return found;
  };
  const wanted = tape.input('heatmap', [batch, shape.labels, h, h]);
  const distances = tape.input('distances', [batch, 4, h, h]);
  const mask = tape.input('mask', [batch, 1, h, h]);
  const inverseCount = tape.input('inverse_count', [1]);
  const quality = valueOf(network.quality);
  const predicted = { residual: valueOf(network.residual), given: valueOf(taps.distances).name, quality };
  heatmapLoss(tape, valueOf(network.logits), wanted, inverseCount, 'heat_loss');
  overlapLoss(tape, predicted, distances, mask, inverseCount, overlapWeight, 'overlap_loss');
  g.op('Add', ['heat_loss', 'overlap_loss'], {}, 'loss');
  if (mode === 'train') return { tape, model: tape.finish(['loss']) };
  const names = new Map([...values].map(([value, { name }]) => [value, name]));
  emitOnnx(g, needed(layers, [network.heat, network.edges]), names);
  g.op('Identity', [names.get(network.heat) ?? ''], {}, 'scores');
  g.op('Identity', [names.get(network.edges) ?? ''], {}, 'edges');
  for (const name of ['loss', 'scores', 'edges']) g.outputs.push({ name, type: FLOAT });
  return { tape, model: g.encode() };
}

export interface Network {
  layers: readonly Layer[];
  /** Numbers of values: [K, S/4, S/4] 0..1, and [4, S/4, S/4] in units of 16 px. */
  heat: number;
  edges: number;
  /** Values [regions · labels, S/stride, S/stride], and a bias per label; undefined without rescoring. */
  rescoring: { maps: readonly { value: number; stride: number }[]; bias: Float32Array } | undefined;
}
/** The complete trained detector, for the export. @param rescoring - on the detector's cells. */
export function detectorNetwork(
  detector: Detector,
  weights: Weights,
  shape: HeadShape,
  rescoring?: Rescoring,
): Network {
  const { layers, heat, edges } = headNetwork(detector, weights, shape);
  if (!rescoring) return { layers: needed(layers, [heat, edges]), heat, edges, rescoring };
  const all = [...layers];
  const maps = detector.cells.map(({ value: input, channels, stride }, i) => {
    const outputs = regionScales.length * shape.labels;
    const value = all.length + 1;
    const dims: Dims4 = [outputs, channels, 1, 1];
    const bias = new Float32Array(outputs);
    const values = rescoring.weights[i];
    if (values?.length !== outputs * channels) throw new Error('the rescoring is of another detector');
    const layer = { is: 'conv', depthwise: false, stride: 1, relu: false, dims, bias } as const;
    all.push({ ...layer, input, output: value, weights: values });
    return { value, stride };
  });
  const wanted = [heat, edges, ...maps.map(({ value }) => value)];
  return { layers: needed(all, wanted), heat, edges, rescoring: { maps, bias: rescoring.bias } };
}
