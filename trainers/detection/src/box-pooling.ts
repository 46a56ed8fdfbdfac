/**
 * What a network has seen of a whole thing: around each cell, the mean over a window as wide and as tall as the box that is
 * expected there. One cell of it shows a part of the thing, and parts of different kinds of things are alike.
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

/** Cells of the windows that means are made of, odd numbers; sizes between two of them are mixed of both. */
const widths = (stride: number): readonly number[] => [1, 3, 5, 9, 13, 17].filter((width) => width * stride <= 288);

/**
 * Adds layers that average over windows; what lies outside of the image is 0.
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
  /** [1, S/stride, S/stride]: how many cells the box extends along the axis. */
  const extent = (axis: Axis, stride: number): number => {
    const cells = distanceUnit / stride;
    const both = axis === 'across' ? [cells, 0, cells, 0] : [0, cells, 0, cells];
    let value = conv(distances, [1, 4, 1, 1], Float32Array.from(both), { depthwise: false });
    for (let at: number = cellStride; at < stride; at *= 2) {
      value = conv(value, [1, 1, 2, 2], new Float32Array(4).fill(0.25), { depthwise: true, stride: 2 });
    }
    return value;
  };
  /** The mean over a cell, plus what each wider window changes of it, as far as the extent goes beyond the narrower one. */
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

/** Kernels that make a mean over `narrow` cells one over `wide` cells, the same for each channel. */
function wideningKernel(narrow: number, wide: number, channels: number): Float32Array {
  const margin = (wide - narrow) / 2;
  const kernel = Array.from({ length: wide }, (_, i) => 1 / wide - (i >= margin && i < wide - margin ? 1 / narrow : 0));
  return Float32Array.from({ length: channels * wide }, (_, i) => kernel[i % wide] ?? 0);
}
