/**
 * The trained part of the detector. It sees, per cell of 4 × 4 px, the pretrained neck and what the pretrained class head
 * makes of it, and the deep features of the surroundings; it says how much a cell is the centre of a thing of each label,
 * and by how much the pretrained distances to the edges of the box are to be corrected.
 */
import { relu, upsample, weighted } from '@platform/trainer-engine/autodiff/operations';
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { needed } from '@platform/trainer-engine/network/layers';
import type { Dims4, Layer } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, UINT8 } from '@platform/trainer-engine/onnx/graph';
import { cellStride, deepChannels, deepStride, neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import type { Detector } from '@platform/trainer-engine/pretrained/centernet';
import { seeded } from '@platform/trainer-engine/random';
import { heatmapLoss, overlapLoss } from './loss.ts';

export interface Shape {
  /** Pixels of the picture. */
  side: number;
  labels: number;
  hidden: number;
}
export type Weights = ReadonlyMap<string, Float32Array>;

/** A cell without knowledge holds a thing with this logit: one in ten. */
const priorLogit = -2.19;
const upFactor = deepStride / cellStride;

/** Convolutions 1 × 1 of the head: name of the weights, of the bias, channels in and out. */
const shapesOf = ({ labels, hidden }: Shape): Record<string, readonly [number, number]> => ({
  inner: [hidden, neckChannels],
  seen: [hidden, neckChannels],
  around: [hidden, deepChannels],
  heat: [labels, hidden],
  edge: [4, neckChannels],
  correction: [4, hidden],
});
const biased = new Set(['inner', 'heat', 'edge']);

/** Weights before training: the residual of the distances is nothing. */
export function firstWeights(shape: Shape, seed: number): Map<string, Float32Array> {
  const random = seeded('head', seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-9)) * Math.cos(2 * Math.PI * random());
  const scales: Record<string, number> = {
    inner: Math.sqrt(1 / neckChannels),
    seen: Math.sqrt(1 / neckChannels),
    around: 0.5 * Math.sqrt(1 / deepChannels),
    heat: 0.03,
    edge: 0,
    correction: 0,
  };
  const weights = new Map<string, Float32Array>();
  for (const [name, [to, from]] of Object.entries(shapesOf(shape))) {
    const scale = scales[name] ?? 0;
    weights.set(
      name,
      Float32Array.from({ length: to * from }, () => (scale === 0 ? 0 : scale * normal())),
    );
    if (biased.has(name)) weights.set(`${name}.bias`, new Float32Array(to).fill(name === 'heat' ? priorLogit : 0));
  }
  return weights;
}

interface Heads {
  logits: Value;
  residual: Value;
  /** Name of the pretrained distances, in units of 16 px. */
  given: string;
  neck: Value;
}
function headOn(
  tape: Tape,
  detector: Detector,
  weights: Weights,
  shape: Shape,
  inputs: { neck: Value; deep: Value; kept?: Value },
): Heads {
  const g = tape.graph;
  const { neck, deep, kept } = inputs;
  const { taps } = detector;
  const [batch = 0, , h = 0] = neck.shape;
  const seen = new Map([[taps.neck, neck.name]]);
  const wanted = [taps.classView, taps.boxView, taps.distances];
  emitOnnx(
    g,
    needed(detector.layers, wanted).filter(({ output }) => wanted.includes(output)),
    seen,
  );
  const view = (tap: number): Value => ({
    name: seen.get(tap) ?? '',
    shape: [batch, neckChannels, h, h],
    trained: false,
  });
  const shapes = shapesOf(shape);
  const conv = (x: Value, name: string): Value => {
    const [to = 0, from = 0] = shapes[name] ?? [];
    const w = tape.parameter(name, Float32Array.from(weights.get(name) ?? []), [to, from, 1, 1]);
    const bias = weights.get(`${name}.bias`);
    const b = bias
      ? tape.parameter(`${name}.bias`, Float32Array.from(bias), [to])
      : tape.frozen(new Float32Array(to), [to]);
    return tape.conv(x, w, b);
  };
  const sum = tape.add(conv(neck, 'inner'), conv(view(taps.classView), 'seen'));
  const whole = relu(tape, tape.add(sum, upsample(tape, conv(deep, 'around'), upFactor)));
  const inner = kept ? weighted(tape, whole, kept) : whole;
  // Where the edges are hangs on no single channel: to leave some out would only blur it.
  const residual = tape.add(conv(view(taps.boxView), 'edge'), conv(whole, 'correction'));
  return { logits: conv(inner, 'heat'), residual, given: seen.get(taps.distances) ?? '', neck };
}

export interface HeadGraph {
  tape: Tape;
  model: Buffer;
}
export interface HeadGraphOptions {
  batch: number;
  /** Value of a byte of the neck, per channel; absent: the neck comes as float32. */
  neckSteps?: Float32Array;
  /** Of the boxes' loss beside that of the heatmap. */
  overlapWeight: number;
  to: 'learn' | 'judge';
}
/**
 * Reads neck (uint8 [N,128,h,h] in steps of `neckSteps`, or float32), deep [N,480,S/32,S/32], heatmap [N,K,h,h],
 * distances [N,4,h,h], mask [N,1,h,h], inverse_count [1] and the parameters; gives `loss`.
 * To learn: reads kept [N,hidden,1,1], factors of the inner channels, and gives the gradients `d_<parameter>`, too. To judge:
 * gives `scores` [N,K,h,h] 0..1 and `edges` [N,4,h,h] in units of 16 px, too.
 */
export function headGraph(
  detector: Detector,
  weights: Weights,
  shape: Shape,
  { batch, neckSteps, overlapWeight, to }: HeadGraphOptions,
): HeadGraph {
  const tape = new Tape();
  const g = tape.graph;
  const h = shape.side / cellStride;
  const d = shape.side / deepStride;
  const neckShape = [batch, neckChannels, h, h];
  g.inputs.push({ name: 'neck', type: neckSteps ? UINT8 : FLOAT, dims: neckShape });
  const values = neckSteps
    ? g.op('Mul', [g.op('Cast', ['neck'], { to: FLOAT }), g.constant(neckSteps, [neckChannels, 1, 1])])
    : 'neck';
  const neck: Value = { name: values, shape: neckShape, trained: false };
  const deep = tape.input('deep', [batch, deepChannels, d, d]);
  const kept = to === 'learn' ? { kept: tape.input('kept', [batch, shape.hidden, 1, 1]) } : {};
  const { logits, residual, given } = headOn(tape, detector, weights, shape, { neck, deep, ...kept });
  const wanted = tape.input('heatmap', [batch, shape.labels, h, h]);
  const distances = tape.input('distances', [batch, 4, h, h]);
  const mask = tape.input('mask', [batch, 1, h, h]);
  const inverseCount = tape.input('inverse_count', [1]);
  heatmapLoss(tape, logits, wanted, inverseCount, 'heat_loss');
  overlapLoss(tape, { residual, given }, distances, mask, inverseCount, overlapWeight, 'overlap_loss');
  g.op('Add', ['heat_loss', 'overlap_loss'], {}, 'loss');
  if (to === 'learn') return { tape, model: tape.finish(['loss']) };
  g.op('Sigmoid', [logits.name], {}, 'scores');
  g.op('Add', [residual.name, given], {}, 'edges');
  for (const name of ['loss', 'scores', 'edges']) g.outputs.push({ name, type: FLOAT });
  return { tape, model: g.encode() };
}

export interface Network {
  layers: readonly Layer[];
  /** Numbers of values: [K, S/4, S/4] 0..1, and [4, S/4, S/4] in units of 16 px. */
  heat: number;
  edges: number;
}
/** The whole trained detector as one description, for the files that are made of it. */
export function wholeNetwork({ layers, taps }: Detector, weights: Weights, shape: Shape): Network {
  const all: Layer[] = [...layers];
  const shapes = shapesOf(shape);
  type Unnumbered = Layer extends infer L ? (L extends Layer ? Omit<L, 'output'> : never) : never;
  const add = (layer: Unnumbered): number => {
    const output = all.length + 1;
    all.push({ ...layer, output });
    return output;
  };
  const conv = (input: number, name: string): number => {
    const [to = 0, from = 0] = shapes[name] ?? [];
    const dims: Dims4 = [to, from, 1, 1];
    const values = weights.get(name) ?? new Float32Array(to * from);
    const bias = weights.get(`${name}.bias`) ?? new Float32Array(to);
    return add({ is: 'conv', input, depthwise: false, stride: 1, relu: false, dims, weights: values, bias });
  };
  const sum = add({ is: 'add', inputs: [conv(taps.neck, 'inner'), conv(taps.classView, 'seen')] });
  const around = add({ is: 'upsample', input: conv(taps.deep, 'around'), factor: upFactor, anchor: 'center' });
  const inner = add({ is: 'relu', input: add({ is: 'add', inputs: [sum, around] }) });
  const heat = add({ is: 'sigmoid', input: conv(inner, 'heat') });
  const residual = add({ is: 'add', inputs: [conv(taps.boxView, 'edge'), conv(inner, 'correction')] });
  const edges = add({ is: 'add', inputs: [taps.distances, residual] });
  return { layers: needed(all, [heat, edges]), heat, edges };
}
