/** Evaluates a TensorFlow.js graph node by node, in plain loops, as TensorFlow defines the operators. [H,W,C], no batch. */
import type { GraphFile, GraphNode } from '../src/pretrained/centernet-file.ts';

export interface Array3 {
  shape: readonly [height: number, width: number, channels: number];
  values: Float64Array | Float32Array;
}

/** @returns the value of a node by its name. */
export function runGraph({ nodes, constants }: GraphFile, image: Array3): (name: string) => Array3 {
  const done = new Map<string, Array3>();
  const value = (name: string): Array3 => {
    const before = done.get(name);
    if (before) return before;
    const constant = constants.get(name);
    const node = nodes.get(name);
    const found: Array3 = constant
      ? { shape: [1, 1, constant.values.length], values: constant.values }
      : node
        ? evaluate(node)
        : missing(name);
    done.set(name, found);
    return found;
  };
  const evaluate = (node: GraphNode): Array3 => {
    const [a = '', b = '', c = ''] = node.inputs;
    switch (node.op) {
      case 'Placeholder':
        return image;
      case '_FusedConv2D':
      case 'Conv2D':
      case 'FusedDepthwiseConv2dNative':
      case 'DepthwiseConv2dNative':
        return convolution(node, value(a), constants.get(b) ?? missing(b), constants.get(c)?.values);
      case 'Mul':
        return paired(value(a), value(b), (x, y) => x * y);
      case 'Add':
        return paired(value(a), value(b), (x, y) => x + y);
      case 'Relu':
        return each(value(a), (x) => Math.max(0, x));
      case 'Relu6':
        return each(value(a), (x) => Math.min(6, Math.max(0, x)));
      case 'Sigmoid':
        return each(value(a), (x) => 1 / (1 + Math.exp(-x)));
      case 'Mean':
        return mean(value(a));
      case 'ConcatV2':
        return concat(node.inputs.slice(0, -1).map(value));
      case 'ResizeBilinear':
        return doubled(value(a));
      default:
        throw new Error(`operator ${node.op}`);
    }
  };
  return value;
}
function missing(name: string): never {
  throw new Error(`there is no ${name}`);
}

const each = ({ shape, values }: Array3, change: (x: number) => number): Array3 => ({
  shape,
  values: Float64Array.from(values, change),
});
/** A smaller operand is one number, or one per channel. */
function paired(a: Array3, b: Array3, combine: (x: number, y: number) => number): Array3 {
  const { shape } = a.values.length >= b.values.length ? a : b;
  const at = ({ values }: Array3, i: number): number => values[i % values.length] ?? 0;
  const values = Float64Array.from({ length: shape[0] * shape[1] * shape[2] }, (_, i) => combine(at(a, i), at(b, i)));
  return { shape, values };
}
function mean({ shape: [height, width, channels], values }: Array3): Array3 {
  const sums = new Float64Array(channels);
  for (const [i, one] of values.entries()) sums[i % channels] = (sums[i % channels] ?? 0) + one;
  return { shape: [1, 1, channels], values: sums.map((sum) => sum / (height * width)) };
}
function concat(parts: readonly Array3[]): Array3 {
  const [height = 0, width = 0] = parts[0]?.shape ?? [];
  const channels = parts.reduce((sum, { shape }) => sum + shape[2], 0);
  const values = new Float64Array(height * width * channels);
  for (let cell = 0; cell < height * width; cell++) {
    let to = cell * channels;
    for (const { shape, values: own } of parts) {
      for (let c = 0; c < shape[2]; c++) values[to++] = own[cell * shape[2] + c] ?? 0;
    }
  }
  return { shape: [height, width, channels], values };
}
/** Pixels are points at their corners: even ones are copied, odd ones lie half-way to the next. */
function doubled({ shape: [height, width, channels], values }: Array3): Array3 {
  const out = new Float64Array(4 * height * width * channels);
  const at = (y: number, x: number, c: number): number =>
    values[(Math.min(height - 1, y) * width + Math.min(width - 1, x)) * channels + c] ?? 0;
  for (let y = 0; y < 2 * height; y++) {
    for (let x = 0; x < 2 * width; x++) {
      const [top, left] = [y >> 1, x >> 1];
      for (let c = 0; c < channels; c++) {
        const [below, beside] = [y % 2, x % 2];
        const sum =
          at(top, left, c) + at(top + below, left, c) + at(top, left + beside, c) + at(top + below, left + beside, c);
        out[(y * 2 * width + x) * channels + c] = sum / 4;
      }
    }
  }
  return { shape: [2 * height, 2 * width, channels], values: out };
}
/** All of these pad alike: the odd pixel at the end; a 1 × 1 needs none. */
function convolution(
  { op, stride, relu }: GraphNode,
  { shape: [height, width, channels], values }: Array3,
  kernel: { shape: readonly number[]; values: Float32Array },
  bias: Float32Array | undefined,
): Array3 {
  const [kh = 1, kw = 1, , last = 1] = kernel.shape;
  const isDepthwise = op.includes('epthwise');
  const to = isDepthwise ? channels : last;
  const [tall, wide] = [Math.ceil(height / stride), Math.ceil(width / stride)];
  const before = (size: number, k: number): number =>
    Math.max((Math.ceil(size / stride) - 1) * stride + k - size, 0) >> 1;
  const [above, left] = [before(height, kh), before(width, kw)];
  const out = new Float64Array(tall * wide * to);
  for (let y = 0; y < tall; y++) {
    for (let x = 0; x < wide; x++) {
      for (let o = 0; o < to; o++) {
        let sum = bias?.[o] ?? 0;
        for (let i = 0; i < kh; i++) {
          const row = y * stride + i - above;
          if (row < 0 || row >= height) continue;
          for (let j = 0; j < kw; j++) {
            const column = x * stride + j - left;
            if (column < 0 || column >= width) continue;
            const cell = (row * width + column) * channels;
            if (isDepthwise) {
              sum += (values[cell + o] ?? 0) * (kernel.values[(i * kw + j) * channels + o] ?? 0);
              continue;
            }
            for (let c = 0; c < channels; c++) {
              sum += (values[cell + c] ?? 0) * (kernel.values[((i * kw + j) * channels + c) * to + o] ?? 0);
            }
          }
        }
        out[(y * wide + x) * to + o] = relu ? Math.max(0, sum) : sum;
      }
    }
  }
  return { shape: [tall, wide, to], values: out };
}
