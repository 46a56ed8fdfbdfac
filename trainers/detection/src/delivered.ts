/** The files of a trained detector, made of one description: pixels in, boxes out, with everything in between inside. */
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph, UINT8 } from '@platform/trainer-engine/onnx/graph';
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';
import { mostBoxes, mostOverlap } from './decode.ts';
import type { Network } from './head.ts';

export interface DeliveredShape {
  /** Pixels of both edges. */
  side: number;
  labels: number;
  /** Text by name: labels (one per line), task, thresholds … */
  metadata: Readonly<Record<string, string>>;
}
/** Boxes of different labels lie this far apart while overlaps are looked for, so that they have none. */
export const labelDistance = 2;
/** 1 where the column is surer than the row. */
export const surer = (count: number): Float32Array =>
  Float32Array.from({ length: count * count }, (_, i) => (i % count < Math.floor(i / count) ? 1 : 0));

export const boxCount = (side: number, labels: number): number =>
  Math.min(mostBoxes, labels * (side / cellStride) ** 2);

/**
 * In: image [1,S,S,3] uint8 RGB. Out: location [1,n,4] xmin, ymin, xmax, ymax in 0..1, category [1,n] index of the label,
 * score [1,n], all float32, the surest first; boxes that a surer one of their label covers have score 0.
 */
export function onnxOf(network: Network, { side, labels, metadata }: DeliveredShape): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const image = g.op('Transpose', [g.op('Cast', ['image'], { to: FLOAT })], { perm: [0, 3, 1, 2] });
  const values = new Map([[0, image]]);
  emitOnnx(g, network.layers, values);
  emitBoxes(g, values.get(network.heat) ?? '', values.get(network.edges) ?? '', side, labels);
  const count = boxCount(side, labels);
  g.outputs.push({ name: 'location', type: FLOAT, dims: [1, count, 4] });
  for (const name of ['category', 'score']) g.outputs.push({ name, type: FLOAT, dims: [1, count] });
  Object.assign(g.metadata, metadata);
  return g.encode();
}

function emitBoxes(g: Graph, heat: string, edges: string, side: number, labels: number): void {
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
  // Below zero the cell would lie outside of its box.
  const reach = g.op('Relu', [g.op('Gather', [g.op('Reshape', [edges, g.ints([4, -1])]), cell], { axis: 1 })]);
  const scale = distanceUnit / side;
  const outward = g.constant(Float32Array.of(-scale, -scale, scale, scale), [1, 4]);
  const moved = g.op('Add', [corners, times(g.op('Transpose', [reach], { perm: [1, 0] }), outward)]);
  const boxes = g.op('Clip', [moved, g.scalar(0), g.scalar(1)]);

  // Every pair of boxes: rows are those in question, columns the surer ones.
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
  const covers = float(g.op('Greater', [times(shared, 1 + mostOverlap), times(both, mostOverlap)]));
  const isCovered = g.op('ReduceMax', [times(covers, g.constant(surer(count), [count, count]))], {
    axes: [1],
    keepdims: 0,
  });
  const kept = times(scores, g.op('Sub', [g.scalar(1), isCovered]));

  g.op('Unsqueeze', [boxes, int(0)], {}, 'location');
  g.op('Unsqueeze', [float(category), int(0)], {}, 'category');
  g.op('Unsqueeze', [kept, int(0)], {}, 'score');
}
