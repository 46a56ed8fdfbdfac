/** Rescoring with the operators of ONNX and TensorFlow Lite; `rescore` is the reference. */
import type { TensorRef } from '@platform/trainer-engine/network/tflite';
import type { Graph } from '@platform/trainer-engine/onnx/graph';
import type { OperatorName } from '@platform/trainer-engine/tflite/schema';
import type { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { minExtent, regionScales } from './rescoring.ts';
import type { TensorOps } from './tensor-ops.ts';

const cellStarts = (edge: number, offset = 0): Float32Array =>
  Float32Array.from({ length: edge }, (_, i) => i + offset);

export interface OnnxBoxes {
  /** [n, 4] */
  boxes: string;
  /** [n], int64 */
  category: string;
  /** [n] */
  scores: string;
}
export interface OnnxRescoring {
  /** [1, regions · labels, edge, edge] each. */
  maps: readonly { value: string; edge: number }[];
  bias: Float32Array;
}

/** The same `count` boxes with new scores, the highest first. */
export function emitRescoring(
  g: Graph,
  { boxes, category, scores }: OnnxBoxes,
  rescoring: OnnxRescoring,
  count: number,
): OnnxBoxes {
  const labels = rescoring.bias.length;
  const int = (x: number): string => g.ints([x]);
  const times = (a: string, b: string): string => g.op('Mul', [a, b]);
  const half = g.scalar(0.5);
  const column = (k: number): string => g.op('Slice', [boxes, int(k), int(k + 1), int(1)]);
  /** [n, edge]: the share of each cell in the mean. */
  const shares = (low: string, high: string, scale: number, edge: number): string => {
    const middle = times(g.op('Add', [low, high]), half);
    const reach = times(g.op('Sub', [high, low]), g.scalar(scale / 2));
    const [zero, one, cells] = [g.scalar(0), g.scalar(1), g.scalar(edge)];
    const start = times(g.op('Max', [g.op('Sub', [middle, reach]), zero]), cells);
    const end = times(g.op('Min', [g.op('Add', [middle, reach]), one]), cells);
    const from = g.op('Max', [start, g.constant(cellStarts(edge), [1, edge])]);
    const to = g.op('Min', [end, g.constant(cellStarts(edge, 1), [1, edge])]);
    const extent = g.op('Max', [g.op('Sub', [end, start]), g.scalar(minExtent)]);
    return g.op('Div', [g.op('Relu', [g.op('Sub', [to, from])]), extent]);
  };
  const [left, top, right, bottom] = [column(0), column(1), column(2), column(3)];
  let logits = g.op('Gather', [g.constant(rescoring.bias, [labels]), category]);
  for (const { value, edge } of rescoring.maps) {
    for (const [region, scale] of regionScales.entries()) {
      const own = g.op('Gather', [value, g.op('Add', [category, int(region * labels)])], { axis: 1 });
      const across = g.op('Unsqueeze', [shares(left, right, scale, edge), g.ints([0, 2])]);
      const down = g.op('Unsqueeze', [shares(top, bottom, scale, edge), g.ints([0, 3])]);
      const weighted = times(times(own, down), across);
      const sum = g.op('ReduceSum', [weighted, g.ints([2, 3])], { keepdims: 0 });
      logits = g.op('Add', [logits, g.op('Reshape', [sum, int(-1)])]);
    }
  }
  const seen = g.op('Sigmoid', [logits]);
  const rescored = g.op('Sqrt', [times(scores, seen)]);
  const { values, indices } = g.topK(rescored, count);
  const ordered = (x: string): string => g.op('Gather', [x, indices], { axis: 0 });
  return { boxes: ordered(boxes), category: ordered(category), scores: values };
}

export interface TfliteBoxes {
  /** [n, 4] */
  boxes: number;
  /** [n], int32 */
  category: number;
  /** [n] */
  scores: number;
}
export interface TfliteRescoring {
  /** [1, edge, edge, regions · labels] each. */
  maps: readonly TensorRef[];
  bias: Float32Array;
}

/** The same as `emitRescoring`. */
export function emitTfliteRescoring(
  g: TfliteGraph,
  ops: TensorOps,
  { boxes, category, scores }: TfliteBoxes,
  { maps, bias }: TfliteRescoring,
  count: number,
): TfliteBoxes {
  const { binary, number, whole, reshape } = ops;
  const labels = bias.length;
  const list = [count];
  const sides = g.ops(
    'SPLIT',
    [whole(1), boxes],
    Array.from({ length: 4 }, () => ({ shape: [count, 1] })),
    { count: 4 },
  );
  const [left = 0, top = 0, right = 0, bottom = 0] = sides.map((side) => reshape(side, [1, count]));
  let logits = g.op('GATHER', [g.constant(bias, [labels]), category], { shape: list }, { axis: 0 });
  for (const { tensor, shape } of maps) {
    const edge = shape[1];
    const values = [1, edge, edge, count];
    for (const [region, scale] of regionScales.entries()) {
      const channels = binary('ADD', category, whole(region * labels), list, 'int32');
      const own = g.op('GATHER', [tensor, channels], { shape: values }, { axis: 3 });
      const across = reshape(cellShares(g, ops, [left, right], { scale, edge, count }), [1, 1, edge, count]);
      const down = reshape(cellShares(g, ops, [top, bottom], { scale, edge, count }), [1, edge, 1, count]);
      const weighted = binary('MUL', binary('MUL', own, down, values), across, values);
      const axes = g.constant(Int32Array.of(1, 2), [2]);
      const mean = g.op('MEAN', [weighted, axes], { shape: [1, 1, 1, count] }, { keepDims: 1 });
      const sum = binary('MUL', reshape(mean, list), number(edge ** 2), list);
      logits = binary('ADD', logits, sum, list);
    }
  }
  const seen = g.op('LOGISTIC', [logits], { shape: list });
  const rescored = g.op('SQRT', [binary('MUL', scores, seen, list)], { shape: list });
  const [ordered = 0, order = 0] = g.ops(
    'TOPK_V2',
    [rescored, whole(count)],
    [{ shape: list }, { shape: list, type: 'int32' }],
  );
  return {
    boxes: g.op('GATHER', [boxes, order], { shape: [count, 4] }, { axis: 0 }),
    category: g.op('GATHER', [category, order], { shape: list, type: 'int32' }, { axis: 0 }),
    scores: ordered,
  };
}

/** [edge, count]: the share of each cell in the mean over a region. */
function cellShares(
  g: TfliteGraph,
  { binary, number }: TensorOps,
  [low, high]: readonly [number, number],
  { scale, edge, count }: { scale: number; edge: number; count: number },
): number {
  const row = [1, count];
  const cells = [edge, count];
  const onRow = (name: OperatorName, a: number, b: number): number => binary(name, a, b, row);
  const middle = onRow('MUL', onRow('ADD', low, high), number(0.5));
  const reach = onRow('MUL', onRow('SUB', high, low), number(scale / 2));
  const start = onRow('MUL', onRow('MAXIMUM', onRow('SUB', middle, reach), number(0)), number(edge));
  const end = onRow('MUL', onRow('MINIMUM', onRow('ADD', middle, reach), number(1)), number(edge));
  const from = binary('MAXIMUM', start, g.constant(cellStarts(edge), [edge, 1]), cells);
  const to = binary('MINIMUM', end, g.constant(cellStarts(edge, 1), [edge, 1]), cells);
  const extent = onRow('MAXIMUM', onRow('SUB', end, start), number(minExtent));
  const common = g.op('RELU', [binary('SUB', to, from, cells)], { shape: cells });
  return binary('DIV', common, extent, cells);
}
