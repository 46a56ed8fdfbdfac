/**
 * Averages features over the predicted box: around each cell, the mean over a window as large as the box. A single cell
 * shows only a part of the object, and parts of different objects look alike.
 */
import type { Dims4, Layer } from '@platform/trainer-engine/network/layers';
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';

type Unnumbered = Layer extends infer L ? (L extends Layer ? Omit<L, 'output'> : never) : never;
type Axis = 'across' | 'down';

export interface PooledMap {
  /** Number of the value [channels, S/stride, S/stride]. */
  value: number;
  channels: number;
  stride: number;
}

/** Window widths in cells, odd numbers; sizes in between are interpolated. */
const widths = (stride: number): readonly number[] => [1, 3, 5, 9, 13, 17].filter((width) => width * stride <= 288);

/**
 * Adds layers that average over windows, with zero padding outside the image.
 *
 * @param distances - number of the value [4, S/4, S/4] with the distances to the left, upper, right and lower edge.
 * @returns numbers of the means, in the order of `seen`.
 */
export function addBoxPooling(
  before: readonly Layer[],
  distances: number,
  seen: readonly PooledMap[],
): { layers: Layer[]; means: number[] } {
  const layers = [...before];
  const add = (layer: Unnumbered): number => {
    const output = layers.length + 1;
    layers.push({ ...layer, output });
    return output;
  };
  const conv = (
    input: number,
    dims: Dims4,
    weights: Float32Array,
    { depthwise, stride = 1 }: { depthwise: boolean; stride?: 1 | 2 },
  ): number => {
    const bias = new Float32Array(dims[0]);
    return add({ is: 'conv', input, depthwise, stride, relu: false, dims, weights, bias });
  };
  /** [1, S/stride, S/stride]: size of the box along the axis, in cells. */
  const extent = (axis: Axis, stride: number): number => {
    const cells = distanceUnit / stride;
    const both = axis === 'across' ? [cells, 0, cells, 0] : [0, cells, 0, cells];
    let value = conv(distances, [1, 4, 1, 1], Float32Array.from(both), { depthwise: false });
    for (let at: number = cellStride; at < stride; at *= 2) {
      value = conv(value, [1, 1, 2, 2], new Float32Array(4).fill(0.25), { depthwise: true, stride: 2 });
    }
    return value;
  };
  /**
   * The cell's value plus the change that each wider window adds, weighted by how far the box exceeds the narrower
   * window.
   */
  const mean = ({ value, channels, stride }: PooledMap, axis: Axis): number => {
    const cells = extent(axis, stride);
    let result = value;
    let narrow = 1;
    for (const wide of widths(stride).slice(1)) {
      const dims: Dims4 = axis === 'across' ? [channels, 1, 1, wide] : [channels, 1, wide, 1];
      const change = conv(value, dims, wideningKernel(narrow, wide, channels), { depthwise: true });
      // min(1, max(0, (cells − narrow) / (wide − narrow)))
      const slope = 6 / (wide - narrow);
      const sloped = add({ is: 'scale', input: cells, factor: slope, offset: -slope * narrow - 3 });
      const share = add({ is: 'hard-sigmoid', input: sloped });
      result = add({ is: 'add', inputs: [result, add({ is: 'multiply', inputs: [change, share] })] });
      narrow = wide;
    }
    return result;
  };
  const means = seen.map((one) => mean({ ...one, value: mean(one, 'across') }, 'down'));
  return { layers, means };
}

/** Kernels that turn a mean over `narrow` cells into one over `wide` cells, equal for all channels. */
function wideningKernel(narrow: number, wide: number, channels: number): Float32Array {
  const margin = (wide - narrow) / 2;
  const kernel = Array.from({ length: wide }, (_, i) => 1 / wide - (i >= margin && i < wide - margin ? 1 / narrow : 0));
  return Float32Array.from({ length: channels * wide }, (_, i) => kernel[i % wide] ?? 0);
}
