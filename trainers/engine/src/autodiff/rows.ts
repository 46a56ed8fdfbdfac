/**
 * Tape operations on channel-last values. A 1×1 convolution of all images is then one matrix product, and so are its
 * gradients, without transposes. For images with few positions that takes three quarters of the time of a convolution
 * per image.
 */
import type { Graph } from '../onnx/graph.ts';
import { ConvolutionGradients } from './convolution.ts';
import type { Convolution, Shape4 } from './convolution.ts';
import { beforeRelu6, relu6 } from './relu6.ts';
import { samePadding, shape4 } from './tape.ts';
import type { ConvOptions, Tape, Value } from './tape.ts';

export interface Rows {
  /** [N·H·W,C] */
  value: Value;
  /** N, C, H, W. */
  size: Shape4;
}
const asRows = (graph: Graph, x: string, [n, c, h, w]: Shape4): string =>
  graph.op('Reshape', [graph.op('Transpose', [x], { perm: [0, 2, 3, 1] }), graph.ints([n * h * w, c])]);
const asPlanes = (graph: Graph, rows: string, [n, c, h, w]: Shape4): string =>
  graph.op('Transpose', [graph.op('Reshape', [rows, graph.ints([n, h, w, c])])], { perm: [0, 3, 1, 2] });
const rowsShape = ([n, c, h, w]: Shape4): readonly number[] => [n * h * w, c];

/** @param x - [N,C,H,W] */
export function rowsOf(tape: Tape, x: Value): Rows {
  const size = shape4(x);
  const value = { name: asRows(tape.graph, x.name, size), shape: rowsShape(size), trained: x.trained };
  return { value: tape.derive(value, (dy) => tape.accumulate(x, asPlanes(tape.graph, dy, size))), size };
}

/** → [N,C,H,W] */
export function planesOf(tape: Tape, { value, size }: Rows): Value {
  const planes = { name: asPlanes(tape.graph, value.name, size), shape: size, trained: value.trained };
  return tape.derive(planes, (dy) => tape.accumulate(value, asRows(tape.graph, dy, size)));
}

export const addRows = (tape: Tape, a: Rows, b: Rows): Rows => ({ value: tape.add(a.value, b.value), size: a.size });

/**
 * narrowᵀ · other, with a separate transpose: inside the product, ONNX Runtime would transpose it once per part of
 * `other`.
 */
function productOverRows(g: Graph, narrow: { name: string; size: Shape4 }, other: string): string {
  const [n, c, h, w] = narrow.size;
  const turned = g.op('Transpose', [g.op('Reshape', [narrow.name, g.ints([n, h * w, c])])], { perm: [2, 0, 1] });
  return g.op('MatMul', [g.op('Reshape', [turned, g.ints([c, n * h * w])]), other]);
}

/** @param weights - [O,C,1,1] */
export function productOfRows(tape: Tape, x: Rows, weights: Value, bias: Value, options: { relu6: boolean }): Rows {
  const g = tape.graph;
  const [o, c] = shape4(weights);
  const [n, , h, w] = x.size;
  const size: Shape4 = [n, o, h, w];
  const flat = g.op('Reshape', [weights.name, g.ints([o, c])]);
  const sums = g.op('Gemm', [x.value.name, flat, bias.name], { transB: 1 });
  const name = options.relu6 ? relu6(g, sums) : sums;
  const trained = x.value.trained || weights.trained || bias.trained;
  const value = tape.derive({ name, shape: rowsShape(size), trained }, (dy) => {
    const before = options.relu6 ? beforeRelu6(g, name, dy) : dy;
    if (bias.trained) tape.accumulate(bias, g.op('ReduceSum', [before, g.ints([0])], { keepdims: 0 }));
    if (weights.trained) {
      const ofWeights =
        c < o
          ? g.op('Transpose', [productOverRows(g, { name: x.value.name, size: x.size }, before)], { perm: [1, 0] })
          : productOverRows(g, { name: before, size }, x.value.name);
      tape.accumulate(weights, g.op('Reshape', [ofWeights, g.ints(weights.shape)]));
    }
    if (x.value.trained) tape.accumulate(x.value, g.op('MatMul', [before, flat]));
  });
  return { value, size };
}

/** Weights and biases are frozen. ONNX Runtime combines the transposes with its own layout change, at no cost. */
export function frozenDepthwiseOfRows(
  tape: Tape,
  x: Rows,
  weights: Value,
  bias: Value,
  { stride = 1, relu6: isRelu6 }: Pick<ConvOptions, 'stride'> & { relu6: boolean },
): Rows {
  if (weights.trained || bias.trained) throw new Error('weights of a depthwise convolution of rows cannot be trained');
  const g = tape.graph;
  const kernel = shape4(weights);
  const [n, c, height, width] = x.size;
  const k = kernel[2];
  const [top, bottom] = samePadding(height, k, stride);
  const [left, right] = samePadding(width, k, stride);
  const size: Shape4 = [n, c, Math.ceil(height / stride), Math.ceil(width / stride)];
  const pads = [top, left, bottom, right] as const;
  const planes = asPlanes(g, x.value.name, x.size);
  const attributes = { pads, strides: [stride, stride], group: c, kernel_shape: [k, k] };
  const sums = g.op('Conv', [planes, weights.name, bias.name], attributes);
  const name = asRows(g, isRelu6 ? relu6(g, sums) : sums, size);
  const one: Convolution = {
    x: planes,
    from: x.size,
    w: weights.name,
    kernel,
    to: size,
    pads,
    stride,
    depthwise: true,
  };
  const value = tape.derive({ name, shape: rowsShape(size), trained: x.value.trained }, (dy) => {
    const before = isRelu6 ? beforeRelu6(g, name, dy) : dy;
    const gradient = new ConvolutionGradients(g).ofInput(one, asPlanes(g, before, size));
    tape.accumulate(x.value, asRows(g, gradient, x.size));
  });
  return { value, size };
}

/** → [N,C], averaged over height and width. */
export function averageRows(tape: Tape, { value: x, size: [n, c, h, w] }: Rows): Value {
  const g = tape.graph;
  const places = g.op('Reshape', [x.name, g.ints([n, h * w, c])]);
  const name = g.op('ReduceMean', [places], { axes: [1], keepdims: 0 });
  return tape.derive({ name, shape: [n, c], trained: x.trained }, (dy) => {
    const share = g.op('Reshape', [g.op('Mul', [dy, g.scalar(1 / (h * w))]), g.ints([n, 1, c])]);
    const everywhere = g.op('Expand', [share, g.ints([n, h * w, c])]);
    tape.accumulate(x, g.op('Reshape', [everywhere, g.ints(x.shape)]));
  });
}
