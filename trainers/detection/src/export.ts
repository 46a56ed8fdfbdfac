/**
 * Exports a trained detector from one description: pixels in, boxes out; the graph includes preprocessing and decoding.
 */
import { emitInt8Onnx } from '@platform/trainer-engine/int8/onnx';
import { emitInt8Tflite } from '@platform/trainer-engine/int8/tflite';
import type { Int8Plan } from '@platform/trainer-engine/int8/plan';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTflite } from '@platform/trainer-engine/network/tflite';
import type { TensorRef } from '@platform/trainer-engine/network/tflite';
import { FLOAT, Graph, UINT8 } from '@platform/trainer-engine/onnx/graph';
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';
import { elementTypes } from '@platform/trainer-engine/tflite/schema';
import type { OperatorName } from '@platform/trainer-engine/tflite/schema';
import { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { maxBoxes, maxIou } from './decode.ts';
import { emitRescoring, emitTfliteRescoring } from './export-rescoring.ts';
import type { OnnxBoxes, TfliteRescoring } from './export-rescoring.ts';
import type { Network } from './head.ts';
import { tensorOps } from './tensor-ops.ts';
import type { TensorOps } from './tensor-ops.ts';

export interface ExportOptions {
  /** Width and height of the input in pixels. */
  side: number;
  labels: number;
  /** Text by name: labels (one per line), task, thresholds … */
  metadata: Readonly<Record<string, string>>;
}
/** Offset between boxes of different labels while the graph computes overlaps, so that they never overlap. */
const labelDistance = 2;
/** 1 where the column has a higher score than the row. */
const higherScored = (count: number): Float32Array =>
  Float32Array.from({ length: count * count }, (_, i) => (i % count < Math.floor(i / count) ? 1 : 0));

export const boxCount = (side: number, labels: number): number => Math.min(maxBoxes, labels * (side / cellStride) ** 2);

/**
 * Input: image [1,S,S,3] uint8 RGB. Output: location [1,n,4] xmin, ymin, xmax, ymax in 0..1; category [1,n], the
 * label's index; score [1,n]. All are float32, the highest score first. Boxes that a higher-scored box of their label
 * covers have score 0.
 *
 * @param int8 - computes with int8 what the plan names; default: with float32.
 */
export function exportOnnx(network: Network, { side, labels, metadata }: ExportOptions, int8?: Int8Plan): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const image = g.op('Transpose', [g.op('Cast', ['image'], { to: FLOAT })], { perm: [0, 3, 1, 2] });
  const values = new Map([[0, image]]);
  if (int8) emitInt8Onnx(g, network.layers, values, int8);
  else emitOnnx(g, network.layers, values);
  const { heat, edges, rescoring } = network;
  const emitted = (value: number): string => values.get(value) ?? '';
  const peaks = emitPeaks(g, emitted(heat), emitted(edges), side, labels);
  const maps = rescoring?.maps.map(({ value, stride }) => ({ value: emitted(value), edge: side / stride }));
  const boxes = rescoring && maps ? emitRescoring(g, peaks, { ...rescoring, maps }, boxCount(side, labels)) : peaks;
  emitSuppression(g, boxes, boxCount(side, labels));
  const count = boxCount(side, labels);
  g.outputs.push({ name: 'location', type: FLOAT, dims: [1, count, 4] });
  for (const name of ['category', 'score']) g.outputs.push({ name, type: FLOAT, dims: [1, count] });
  Object.assign(g.metadata, metadata);
  return g.encode();
}

/** Boxes at the highest local maxima of the heat map. */
function emitPeaks(g: Graph, heat: string, edges: string, side: number, labels: number): OnnxBoxes {
  const h = side / cellStride;
  const count = boxCount(side, labels);
  const float = (x: string): string => g.op('Cast', [x], { to: FLOAT });
  const int = (x: number): string => g.ints([x]);
  const times = (a: string, b: string | number): string => g.op('Mul', [a, typeof b === 'number' ? g.scalar(b) : b]);
  const highest = g.op('MaxPool', [heat], { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [1, 1] });
  const peaks = times(heat, float(g.op('Equal', [heat, highest])));
  const { values: scores, indices } = g.topK(g.op('Reshape', [peaks, int(-1)]), count);
  const category = g.op('Div', [indices, int(h * h)]);
  const cell = g.op('Mod', [indices, int(h * h)]);
  const x = times(float(g.op('Mod', [cell, int(h)])), cellStride / side);
  const y = times(float(g.op('Div', [cell, int(h)])), cellStride / side);
  const corners = g.op(
    'Transpose',
    [
      g.op(
        'Concat',
        [x, y, x, y].map((one) => g.op('Unsqueeze', [one, int(0)])),
        { axis: 0 },
      ),
    ],
    { perm: [1, 0] },
  );
  // A negative distance would place the cell outside its box.
  const reach = g.op('Relu', [g.op('Gather', [g.op('Reshape', [edges, g.ints([4, -1])]), cell], { axis: 1 })]);
  const scale = distanceUnit / side;
  const outward = g.constant(Float32Array.of(-scale, -scale, scale, scale), [1, 4]);
  const moved = g.op('Add', [corners, times(g.op('Transpose', [reach], { perm: [1, 0] }), outward)]);
  const boxes = g.op('Clip', [moved, g.scalar(0), g.scalar(1)]);
  return { boxes, category, scores };
}

/** Non-maximum suppression, and the outputs. */
function emitSuppression(g: Graph, { boxes, category, scores }: OnnxBoxes, count: number): void {
  const float = (x: string): string => g.op('Cast', [x], { to: FLOAT });
  const int = (x: number): string => g.ints([x]);
  const times = (a: string, b: string | number): string => g.op('Mul', [a, typeof b === 'number' ? g.scalar(b) : b]);
  // All pairs of boxes: rows are candidates, columns the higher-scored boxes.
  const apart = g.op('Add', [boxes, times(g.op('Unsqueeze', [float(category), int(1)]), labelDistance)]);
  const column = (k: number): string => g.op('Slice', [apart, int(k), int(k + 1), int(1)]);
  const turned = (value: string): string => g.op('Transpose', [value], { perm: [1, 0] });
  const [left, top, right, bottom] = [column(0), column(1), column(2), column(3)];
  const common = (low: string, high: string): string => {
    const from = g.op('Max', [low, turned(low)]);
    return g.op('Relu', [g.op('Sub', [g.op('Min', [high, turned(high)]), from])]);
  };
  const shared = times(common(left, right), common(top, bottom));
  const area = times(g.op('Sub', [right, left]), g.op('Sub', [bottom, top]));
  // shared / (both − shared) > t  ⇔  shared · (1 + t) > t · both
  const both = g.op('Add', [area, turned(area)]);
  const covers = float(g.op('Greater', [times(shared, 1 + maxIou), times(both, maxIou)]));
  const isCovered = g.op('ReduceMax', [times(covers, g.constant(higherScored(count), [count, count]))], {
    axes: [1],
    keepdims: 0,
  });
  const kept = times(scores, g.op('Sub', [g.scalar(1), isCovered]));

  g.op('Unsqueeze', [boxes, int(0)], {}, 'location');
  g.op('Unsqueeze', [float(category), int(0)], {}, 'category');
  g.op('Unsqueeze', [kept, int(0)], {}, 'score');
}

/** The same network with the same inputs and outputs. @param int8 - as for ONNX. */
export function exportTflite(network: Network, { side, labels, metadata }: ExportOptions, int8?: Int8Plan): Uint8Array {
  const g = new TfliteGraph();
  const shape = [1, side, side, 3] as const;
  const image = g.input('image', 'uint8', shape);
  const types = { from: elementTypes.uint8, to: elementTypes.float32 };
  const values = new Map<number, TensorRef>([[0, { tensor: g.op('CAST', [image], { shape }, types), shape }]]);
  if (int8) emitInt8Tflite(g, network.layers, values, int8);
  else emitTflite(g, network.layers, values);
  const [heat, edges] = [values.get(network.heat), values.get(network.edges)];
  if (!heat || !edges) throw new Error('the network lacks its results');
  const maps = network.rescoring?.maps.map(({ value }) => {
    const map = values.get(value);
    if (!map) throw new Error('the network lacks its results');
    return map;
  });
  const rescoring = network.rescoring && maps ? { ...network.rescoring, maps } : undefined;
  emitTfliteBoxes(g, { heat, edges, rescoring }, side, labels);
  Object.assign(g.metadata, metadata);
  return g.encode();
}

/** The same as `emitPeaks`, `emitRescoring` and `emitSuppression`, on [1,H,W,C]. */
function emitTfliteBoxes(
  g: TfliteGraph,
  { heat, edges, rescoring }: { heat: TensorRef; edges: TensorRef; rescoring: TfliteRescoring | undefined },
  side: number,
  labels: number,
): void {
  const count = boxCount(side, labels);
  const ops = tensorOps(g);
  const peaks = emitTflitePeaks(g, ops, heat, { side, labels });
  const located = { ...peaks, boxes: emitCorners(g, ops, edges, peaks.cell, { side, count }) };
  const { boxes, scores, ...found } = rescoring ? emitTfliteRescoring(g, ops, located, rescoring, count) : located;
  const category = ops.toFloat(found.category, 'int32', [count]);
  const isCovered = emitCovered(g, ops, boxes, category, count);
  const one = ops.number(1);
  const kept = ops.binary('MUL', scores, ops.binary('SUB', one, isCovered, [count]), [count]);
  g.outputs.push(
    ops.reshape(boxes, [1, count, 4], 'location'),
    ops.reshape(category, [1, count], 'category'),
    ops.reshape(kept, [1, count], 'score'),
  );
}

/** The highest local maxima of the heat map: score, label and cell of each. */
function emitTflitePeaks(
  g: TfliteGraph,
  { binary, toFloat, reshape, whole }: TensorOps,
  heat: TensorRef,
  { side, labels }: { side: number; labels: number },
): { scores: number; category: number; cell: number } {
  const h = side / cellStride;
  const count = boxCount(side, labels);
  const pool = { padding: 0, strideWidth: 1, strideHeight: 1, filterWidth: 3, filterHeight: 3 };
  const highest = g.op('MAX_POOL_2D', [heat.tensor], { shape: heat.shape }, pool);
  const isPeak = binary('EQUAL', heat.tensor, highest, heat.shape, 'bool');
  const peaks = binary('MUL', heat.tensor, toFloat(isPeak, 'bool', heat.shape), heat.shape);
  const [scores = 0, indices = 0] = g.ops(
    'TOPK_V2',
    [reshape(peaks, [h * h * labels]), whole(count)],
    [{ shape: [count] }, { shape: [count], type: 'int32' }],
  );
  const category = binary('FLOOR_MOD', indices, whole(labels), [count], 'int32');
  const cell = binary('FLOOR_DIV', indices, whole(labels), [count], 'int32');
  return { scores, category, cell };
}

/** Corners [count, 4] of the boxes at these cells, in 0..1. */
function emitCorners(
  g: TfliteGraph,
  { binary, toFloat, reshape, number, whole }: TensorOps,
  edges: TensorRef,
  cell: number,
  { side, count }: { side: number; count: number },
): number {
  const h = side / cellStride;
  const corner = [count, 4];
  const placed = (name: OperatorName): number => {
    const at = toFloat(binary(name, cell, whole(h), [count], 'int32'), 'int32', [count]);
    return reshape(binary('MUL', at, number(cellStride / side), [count]), [count, 1]);
  };
  const [x, y] = [placed('FLOOR_MOD'), placed('FLOOR_DIV')];
  const corners = g.op('CONCATENATION', [x, y, x, y], { shape: corner }, { axis: 1 });
  const reach = g.op('GATHER', [reshape(edges.tensor, [h * h, 4]), cell], { shape: corner }, { axis: 0 });
  const scale = distanceUnit / side;
  const outward = g.constant(Float32Array.of(-scale, -scale, scale, scale), [1, 4]);
  // A negative distance would place the cell outside its box.
  const outside = binary('MUL', g.op('RELU', [reach], { shape: corner }), outward, corner);
  const moved = binary('ADD', corners, outside, corner);
  return binary('MINIMUM', binary('MAXIMUM', moved, number(0), corner), number(1), corner);
}

/** 1 for each box that a higher-scored box of its label covers, else 0. */
function emitCovered(
  g: TfliteGraph,
  { binary, toFloat, reshape, number, whole }: TensorOps,
  boxes: number,
  category: number,
  count: number,
): number {
  const column = [count, 1];
  const pairs = [count, count];
  const shift = binary('MUL', reshape(category, column), number(labelDistance), column);
  const apart = binary('ADD', boxes, shift, [count, 4]);
  const sides = g.ops(
    'SPLIT',
    [whole(1), apart],
    Array.from({ length: 4 }, () => ({ shape: column })),
    { count: 4 },
  );
  const [left = 0, top = 0, right = 0, bottom = 0] = sides;
  const turned = (value: number): number => reshape(value, [1, count]);
  const common = (low: number, high: number): number => {
    const from = binary('MAXIMUM', low, turned(low), pairs);
    const to = binary('MINIMUM', high, turned(high), pairs);
    return g.op('RELU', [binary('SUB', to, from, pairs)], { shape: pairs });
  };
  const shared = binary('MUL', common(left, right), common(top, bottom), pairs);
  const area = binary('MUL', binary('SUB', right, left, column), binary('SUB', bottom, top, column), column);
  const both = binary('ADD', area, turned(area), pairs);
  const isOver = binary(
    'GREATER',
    binary('MUL', shared, number(1 + maxIou), pairs),
    binary('MUL', both, number(maxIou), pairs),
    pairs,
    'bool',
  );
  const covers = binary('MUL', toFloat(isOver, 'bool', pairs), g.constant(higherScored(count), pairs), pairs);
  return g.op('REDUCE_MAX', [covers, g.constant(Int32Array.of(1), [1])], { shape: [count] }, { keepDims: 0 });
}
